#compdef gecko-convert
# Completions of gecko-convert for zsh. The program's own --help says what there is to complete.

local help="$(_call_program options $words[1] --help 2>/dev/null)"
local -a commands=(${(f)"$(sed -nE 's/^ +gecko-convert ([a-z-]+) .*/\1/p' <<<$help)"})
if (( CURRENT > 2 && $commands[(Ie)$words[2]] )); then
    help="$(_call_program options $words[1] $words[2] --help 2>/dev/null)"
    commands=()
fi

# For each option: its letter, its name, its value such as " FILE", and what it does.
local -a options=(${(f)"$(awk '
        function finish() { if (name) print letter "\t" name "\t" value "\t" text; name = "" }
        match($0, /^  (-[a-zA-Z],|   ) --[a-z-]+/) {
            finish()
            letter = substr($0, 4, 1); name = substr($0, 9, RLENGTH - 8); value = substr($0, RLENGTH + 1); text = ""
            next
        }
        /^          [^ ]/ { sub(/^ +/, text ? " " : ""); text = text $0; next }
        { finish() }' <<<$help)"})

local option letter name value text action repeated
local -a specs fields
for option in $options; do
    fields=("${(@ps:\t:)option}")
    letter=$fields[1] name=$fields[2] value=${fields[3]# } text="[${${fields[4]//\[/(}//\]/)}]" repeated=''
    [[ $text = *'several times'* ]] && repeated='*'
    case $value in
        '') specs+=("--$name$text") action='' ;;
        '[='*) specs+=("--$name=-$text::file:_files") ;;
        FILE) action=':file:_files' ;;
        DIR*) action=':folder:_files -/' ;;
        SIZE) action=':size:(unlimited)' ;;
        [a-z]*) action=":$name:(${value//|/ })" ;;
        *) action=":$value:" ;;
    esac
    [[ $value = (|\[*) ]] || specs+=("$repeated--$name=$text$action")
    [[ $letter = ' ' ]] || specs+=("-$letter$text$action")
done
if (( $#commands )); then
    _arguments -s -S $specs "1:input:{ _values command $commands; _files }" '*:input:_files'
else
    _arguments -s -S $specs '*:input:_files'
fi
