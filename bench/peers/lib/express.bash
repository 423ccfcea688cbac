# bench/peers/lib/express.bash: Express with express-session, for the peers
# that are one of its ways to be used.

sources=$peers/express.d


express_about() {
    echo "Express $(npm_version express)," \
        "express-session $(npm_version express-session)," \
        "Node.js $(node --version 2> /dev/null || echo 'not installed'):" \
        "$*"
}


# In place of this shell.

express() {
    export NODE_ENV=production PEER_MODULES=$dir
    exec node "$sources/app.js" "$@"
}


install() {
    install_packages
    install_npm
}


tokens() {
    express tokens "$data"
}
