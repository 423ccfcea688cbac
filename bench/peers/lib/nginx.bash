# bench/peers/lib/nginx.bash: nginx for the peers that have one, set up the way
# its experts do: one worker, no logs, connections kept alive.


# nginx_conf MODULE...: reads the server's part of http from standard input
# and writes $run/nginx.conf.

nginx_conf() {
    local module

    {
        for module in "$@"; do
            echo "load_module /usr/lib/nginx/modules/$module.so;"
        done

        if [ "$(id -u)" = 0 ]; then
            echo "user root;"
        fi

        cat <<END
daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid $run/nginx.pid;
error_log $run/error.log error;

events {
    worker_connections 4096;
    multi_accept on;
}

http {
    access_log off;
    server_tokens off;
    default_type text/html;

    keepalive_requests 100000000;
    keepalive_timeout 600s;
    tcp_nodelay on;
    reset_timedout_connection on;

    client_body_temp_path $run/body;
    proxy_temp_path $run/proxy;
    fastcgi_temp_path $run/fastcgi;
    uwsgi_temp_path $run/uwsgi;
    scgi_temp_path $run/scgi;

END
        cat
        echo "}"
    } > "$run/nginx.conf"

    # nginx opens its built-in log before it has read its configuration.
    nginx_command=(nginx -p "$run" -e "$run/error.log" -c "$run/nginx.conf")
}


# The lines of DATA/headers as add_header directives: those that are the same
# for each request, or with a variable's name all of them, the variable in
# place of NONCE.

nginx_headers() {
    local line value lines

    if [ $# = 0 ]; then lines=$(fixed_headers); else lines=$(< "$data/headers")
    fi

    while IFS= read -r line; do
        value=${line#*: }
        case $value in
            *\$*) fail "nginx cannot take the \$ of this header: $line" ;;
        esac

        value=${value//\\/\\\\}
        value=${value//\"/\\\"}
        echo "add_header ${line%%: *} \"${value/NONCE/\$${1-}}\";"
    done <<< "$lines"
}


# What auth_request needs: a location /check for a server at $run/app, asked
# once for each GET /protected, whose answer brings the nonce along.

nginx_auth_request() {
    nginx_conf <<END
    open_file_cache max=16 inactive=1h;
    open_file_cache_valid 1h;
    sendfile on;
    tcp_nopush on;
    etag off;

    upstream app {
        server unix:$run/app;
        keepalive 64;
        keepalive_requests 100000000;
        keepalive_timeout 600s;
    }

    server {
        listen 127.0.0.1:$port backlog=4096;

        location = /protected {
            auth_request /check;
            auth_request_set \$nonce \$upstream_http_x_nonce;
$(nginx_headers nonce)
            alias $data/body;
        }

        location = /check {
            internal;
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_pass_request_body off;
            proxy_pass_request_headers off;
            proxy_set_header Connection "";
            proxy_set_header Cookie \$http_cookie;
        }
    }
END
}
