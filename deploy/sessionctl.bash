# Completion of sessionctl for bash.  What there is to complete is asked from
# sessionctl's own -h, so that the two cannot differ.

_sessionctl() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local at=1 skip=
    local -a path=() commands=()

    COMPREPLY=()

    mapfile -t commands < <(_sessionctl_commands)

    while [ "$at" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[at]} in
            --store | --realm) skip=yes ;;
            -*) ;;

            *)
                if [ -n "$skip" ]; then
                    skip=

                elif [[ " ${commands[*]} " == *" ${COMP_WORDS[at]} "* ]]; then
                    path+=("${COMP_WORDS[at]}")
                    mapfile -t commands < <(_sessionctl_commands "${path[@]}")
                fi
                ;;
        esac

        at=$((at + 1))
    done

    # the value of an option, files for most
    case $before in
        --store) compopt -o dirnames; return ;;
        --*) [[ $word == -* ]] || [ ${#commands[@]} -gt 0 ] || return ;;
    esac

    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(_sessionctl_options "${path[@]}")" -- "$word")

    elif [ ${#commands[@]} -gt 0 ]; then
        mapfile -t COMPREPLY < <(compgen -W "${commands[*]}" -- "$word")
    fi
}

_sessionctl_commands() {
    sessionctl "$@" -h 2> /dev/null \
        | awk '/^[a-z]/ { on = $0 == "commands:"; next } on && NF { print $1 }'
}

_sessionctl_options() {
    { sessionctl "$@" -h; echo --help; } 2> /dev/null \
        | grep -oE -e '--[a-z][a-z-]+' | sort -u
}

complete -o default -F _sessionctl sessionctl
