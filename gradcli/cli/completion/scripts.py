"""What a shell runs to complete: a function each, that asks gradcli and gives the shell the reply.

Nothing of a reply is ever evaluated. The shell itself completes names of files, because it knows
how to quote them.
"""

from __future__ import annotations

BASH = r"""
_gradcli() {
    local reply
    mapfile -t reply < <(_GRADCLI_COMPLETE=bash COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" \
        COMP_WORDBREAKS="$COMP_WORDBREAKS" "${1/#\~/$HOME}" 2>/dev/null)
    COMPREPLY=()
    case "${reply[0]}" in
        words) COMPREPLY=("${reply[@]:1}") ;;
        parts) compopt -o nospace; COMPREPLY=("${reply[@]:1}") ;;
        files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "${reply[2]}") ;;
        programs)
            compopt -o filenames
            mapfile -t COMPREPLY < <(
                compgen -d -- "${reply[2]}"; compgen -f -X '!*.tg' -- "${reply[2]}") ;;
    esac
    if [[ ${reply[0]} == files && ${reply[1]} ]]; then  # what stands before is no part of a name
        compopt +o filenames -o nospace
        local k
        for k in "${!COMPREPLY[@]}"; do
            [[ -d ${COMPREPLY[k]} ]] && COMPREPLY[k]+=/
            printf -v "COMPREPLY[k]" %s%q "${reply[1]}" "${COMPREPLY[k]}"
        done
    fi
}
complete -F _gradcli gradcli
"""

ZSH = r"""
#compdef gradcli
_gradcli() {
    local -a reply found
    local line tab=$'\t'
    reply=("${(@f)$(_GRADCLI_COMPLETE=zsh ${~words[1]} \
        "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case $reply[1] in
        files) compset -p ${#reply[2]}; _files ;;
        programs) _files -g '*.tg' ;;
        words|parts)
            for line in "${(@)reply[2,-1]}"; do
                found+=("${${line%%$tab*}//:/\\:}:${line#*$tab}")
            done
            if [[ $reply[1] == parts ]]; then
                _describe argument found -S ''
            else
                _describe argument found
            fi ;;
    esac
}
if [[ $funcstack[1] == _gradcli ]]; then
    _gradcli "$@"
else
    compdef _gradcli gradcli
fi
"""

FISH = r"""
function __gradcli_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l reply (_GRADCLI_COMPLETE=fish $program $words (commandline -ct) 2>/dev/null)
    switch "$reply[1]"
        case files
            for file in (__fish_complete_path "$reply[3]")
                echo -- "$reply[2]$file"
            end
        case programs
            __fish_complete_path "$reply[3]" | string match -r '^[^\t]*(?:/|\.tg)(?:\t.*)?$'
        case words parts
            for line in $reply[2..-1]
                echo -- $line
            end
    end
end
complete --command gradcli --no-files --arguments '(__gradcli_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
