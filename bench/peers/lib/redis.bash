# bench/peers/lib/redis.bash: a Redis server for one peer, in memory only and
# on a socket of its own.


redis_start() {
    rm -f "$run/redis"
    redis-server --port 0 --unixsocket "$run/redis" --unixsocketperm 700 \
        --save '' --appendonly no --daemonize no --databases 1 \
        --dir "$run" --logfile "$run/redis.log" --loglevel warning &

    wait_until redis-cli -s "$run/redis" ping
}


# Reads lines "key TAB value" from standard input.

redis_load() {
    perl -ne '
        chomp;
        my @words = ("SET", split /\t/, $_, 2);
        print "*3\r\n", map { "\$" . length() . "\r\n$_\r\n" } @words;
    ' | redis-cli -s "$run/redis" --pipe > "$run/load.log" \
        || fail "Redis did not take the sessions, see $run/load.log"
}
