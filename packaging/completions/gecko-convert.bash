# Completions of gecko-convert for bash.

# An option's values: words, or "file", "folder", "none" (there are values that nobody can guess), nothing for a flag.
_gecko_convert_values() {
    case $1 in
        -f | --format) echo 'processed gecko' ;;
        --from) echo 'perf-script collapsed native' ;;
        --weight) echo 'samples period' ;;
        --root) echo 'frame thread' ;;
        --symbols) echo 'auto none always' ;;
        --progress) echo 'auto always never' ;;
        -o | --output | --output-archive | --report | --report-junit) echo file ;;
        --debug-dir | --output-dir) echo folder ;;
        -j | --jobs | --product | --top) echo none ;;
        --max-memory) echo unlimited ;;
    esac
}

_gecko_convert_options='--output --format --from --weight --root --symbols --debug-dir --product --max-memory --strict --report
    --progress --quiet --output-dir --output-archive --jobs --if-changed --report-junit --help --version'

_gecko_convert_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

_gecko_convert_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_gecko_convert() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} values
    COMPREPLY=()
    # "--option=value" comes as three words.
    if [ "$word" = = ]; then
        word=''
    elif [ "$option" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
        [ "$option" = --if-changed ] && { _gecko_convert_paths -f "$word" && return; }
    fi
    values=$(_gecko_convert_values "$option")
    case $values in
        none) return ;;
        file) _gecko_convert_paths -f "$word" && return ;;
        folder) _gecko_convert_paths -d "$word" && return ;;
        ?*) _gecko_convert_words "$values" "$word" && return ;;
    esac
    case ${COMP_WORDS[1]}:$word in
        info:-*) _gecko_convert_words '--json --top --from --max-memory --help' "$word" ;;
        check:-*) _gecko_convert_words '--json --max-memory --help' "$word" ;;
        *:-*) _gecko_convert_words "$_gecko_convert_options" "$word" ;;
        *)
            _gecko_convert_paths -f "$word"
            if [ "$COMP_CWORD" -eq 1 ]; then mapfile -O "${#COMPREPLY[@]}" -t COMPREPLY < <(compgen -W 'info check' -- "$word"); fi
            ;;
    esac
}

complete -F _gecko_convert gecko-convert
