# Completions of gecko-convert for bash.

# Prints the values of an option: words; "file" or "folder"; "none" if they cannot be completed; nothing for a flag.
_gecko_convert_values() {
    case $1 in
        -f | --format) echo 'processed gecko' ;;
        --from) echo 'perf-data perf-script collapsed recorder' ;;
        --weight) echo 'samples period' ;;
        --root) echo 'frame thread' ;;
        --symbols) echo 'auto none always' ;;
        --sources) echo 'embed none' ;;
        --samples) echo 'perf recorder' ;;
        --progress) echo 'auto always never' ;;
        -o | --output | --output-archive | --report | --report-junit) echo file ;;
        --debug-dir | --sysroot | --output-dir | --source-dir | --viewer) echo folder ;;
        -j | --jobs | --product | --top | --port | --idle-exit | --source-map | --align) echo none ;;
        --max-memory | --sources-max) echo unlimited ;;
    esac
}

_gecko_convert_options='--output --format --from --weight --root --symbols --debug-dir --sysroot --sources --source-dir --source-map
    --sources-max --product --align --samples --max-memory --strict --report --progress --quiet --output-dir --output-archive --jobs --if-changed --report-junit --help --version'

_gecko_convert_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2"); }

_gecko_convert_paths() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_gecko_convert() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} values
    COMPREPLY=()
    # Bash splits "--option=value" into three words.
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
        info:-*) _gecko_convert_words '--json --top --from --together --align --samples --max-memory --help' "$word" ;;
        view:-*) _gecko_convert_words '--viewer --port --no-open --idle-exit --from --weight --root --symbols --debug-dir --sysroot --sources
            --source-dir --source-map --sources-max --product --align --samples --max-memory --quiet --help' "$word" ;;
        check:-*) _gecko_convert_words '--json --max-memory --help' "$word" ;;
        *:-*) _gecko_convert_words "$_gecko_convert_options" "$word" ;;
        *)
            _gecko_convert_paths -f "$word"
            if [ "$COMP_CWORD" -eq 1 ]; then mapfile -O "${#COMPREPLY[@]}" -t COMPREPLY < <(compgen -W 'info check view' -- "$word"); fi
            ;;
    esac
}

complete -F _gecko_convert gecko-convert
