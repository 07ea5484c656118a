# Completions of gecko-convert for fish. The program's own --help says what there is to complete.

# Prints for each option of the command: its letter, its name, its value such as " FILE", and what it does.
function __gecko_convert_options
    gecko-convert $argv --help 2>/dev/null | awk '
        function finish() { if (name) print letter "\t" name "\t" value "\t" text; name = "" }
        match($0, /^  (-[a-zA-Z],|   ) --[a-z-]+/) {
            finish()
            letter = substr($0, 4, 1); name = substr($0, 9, RLENGTH - 8); value = substr($0, RLENGTH + 1); text = ""
            next
        }
        /^          [^ ]/ { sub(/^ +/, text ? " " : ""); text = text $0; next }
        { finish() }'
end

# Adds the options of a command, which is seen under that condition.
function __gecko_convert_complete -a condition
    __gecko_convert_options $argv[2..-1] | while read -l -d \t letter name value text
        set -l what -l $name -d $text
        test $letter != ' '; and set what -s $letter $what
        switch $value
            case '[=*' ''
            case ' FILE'
                set what -r -F $what
            case ' DIR*'
                set what -x -a '(__fish_complete_directories)' $what
            case ' SIZE'
                set what -x -a unlimited $what
            case '* *|*'
                set what -x -a (string replace -a '|' ' ' -- $value) $what
            case '*'
                set what -x $what
        end
        complete -c gecko-convert -n $condition $what
    end
end

set -l commands
gecko-convert --help 2>/dev/null | string replace -rf '^ +gecko-convert ([a-z-]+) .*  (.*)' '$1\t$2' | while read -l -d \t name text
    set -a commands $name
    complete -c gecko-convert -n __fish_is_first_token -a $name -d $text
    __gecko_convert_complete "__fish_seen_subcommand_from $name" $name
end
__gecko_convert_complete "not __fish_seen_subcommand_from $commands"
