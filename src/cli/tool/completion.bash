# The part of the completion that is the same whatever verbs and options there
# are.  Behind a program's name nothing is ours: what is known of that program,
# or files.
_aliquot_program()
{
    local word values=" $1 "
    at=2
    while [ "$at" -lt "$COMP_CWORD" ]; do
        word=${COMP_WORDS[at]}
        case $word in
        --) at=$((at + 1)) ended=1; return ;;
        -*) ;;
        *) return ;;
        esac
        if [ "${COMP_WORDS[at+1]}" = = ]; then
            at=$((at + 3))
        elif [ "${values#* "$word" }" != "$values" ]; then
            at=$((at + 2))
        else
            at=$((at + 1))
        fi
    done
}
_aliquot_behind()
{
    local known
    for known in _comp_command_offset _command_offset; do
        declare -F $known >/dev/null && { $known "$1"; return; }
    done
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
}
# Readline splits --name=value at '='; the function looks back over it.
_aliquot()
{
    local cur prev verb words= at=0 ended=
    cur=${COMP_WORDS[COMP_CWORD]}
    prev=${COMP_WORDS[COMP_CWORD-1]}
    verb=${COMP_WORDS[1]}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$_aliquot_verbs--help --version"
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        return
    fi
    _aliquot_programs "$verb"
    if [ "$at" -gt 0 ] && [ "$at" -lt "$COMP_CWORD" ]; then
        _aliquot_behind "$at"
        return
    fi
    if [ "$at" -eq "$COMP_CWORD" ] &&
        { [ -n "$ended" ] || [ "${cur#-}" = "$cur" ]; } &&
        [ "${cur#*/}" = "$cur" ]; then
        COMPREPLY=($(compgen -c -- "$cur"))
        return
    fi
    if [ "$cur" = = ]; then
        cur=
    elif [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if [ "${cur#-}" != "$cur" ]; then
        _aliquot_options "$verb"
    elif [ "$verb" = help ]; then
        words=$_aliquot_verbs
    else
        _aliquot_values "$verb:$prev"
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$cur"))
        [ "${COMPREPLY[0]%=}" != "${COMPREPLY[0]}" ] &&
            compopt -o nospace 2>/dev/null
    else
        COMPREPLY=($(compgen -f -- "$cur"))
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _aliquot aliquot
