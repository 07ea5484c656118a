# Completions of gecko-convert for bash. The program's own --help says what there is to complete.

_gecko_convert_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

_gecko_convert_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_gecko_convert() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} is_joined=''
    local typed=${COMP_WORDS[0]/#\~/$HOME} help commands options value
    COMPREPLY=()
    # Bash splits "--option=value" into three words.
    if [ "$word" = = ]; then
        word='' is_joined=1
    elif [ "$option" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]} is_joined=1
    fi
    help=$("$typed" --help 2>/dev/null)
    commands=$(sed -nE 's/^ +gecko-convert ([a-z-]+) .*/\1/p' <<<"$help")
    if [ "$COMP_CWORD" -gt 1 ] && grep -qxF -e "${COMP_WORDS[1]}" <<<"$commands"; then
        help=$("$typed" "${COMP_WORDS[1]}" --help 2>/dev/null)
        commands=''
    fi
    # Lines such as "-o, --output FILE", "--strict" and "--if-changed[=MANIFEST]".
    options=$(sed -nE 's/^  (-[a-zA-Z], |    )--/\1--/p' <<<"$help")
    value=''
    [[ $option =~ ^--?[a-zA-Z-]+$ ]] && value=$(sed -nE "s/^(.*, | +)?$option(, --[a-z-]+)?( |\\[=)([^]]+).*/\\3\\4/p" <<<"$options")
    case $value in
        '[='*) [ "$is_joined" ] && _gecko_convert_paths -f "$word" && return ;;
        ' FILE') _gecko_convert_paths -f "$word" && return ;;
        ' DIR'*) _gecko_convert_paths -d "$word" && return ;;
        ' SIZE') _gecko_convert_words unlimited "$word" && return ;;
        ' '[a-z]*) _gecko_convert_words "${value//|/ }" "$word" && return ;;
        ?*) return ;;
    esac
    case $word in
        -*) _gecko_convert_words "$(grep -oE -e '--[a-z-]+' <<<"$options")" "$word" ;;
        *)
            _gecko_convert_paths -f "$word"
            [ "$COMP_CWORD" -gt 1 ] || mapfile -O "${#COMPREPLY[@]}" -t COMPREPLY < <(compgen -W "$commands" -- "$word")
            ;;
    esac
}

complete -F _gecko_convert gecko-convert
