#!/bin/bash
# completions.sh PREFIX: tests that the installed completions for bash, zsh and fish offer exactly the options and choices
# that --help names, which is where they have them from.
# shellcheck source=tests/install/common.sh
. "$(dirname "$0")/common.sh"
suite="completions"
prefix=$1
bash_file=$prefix/share/bash-completion/completions/gecko-convert
zsh_file=$prefix/share/zsh/site-functions/_gecko-convert
fish_file=$prefix/share/fish/vendor_completions.d/gecko-convert.fish
program=$prefix/bin/gecko-convert
export PATH=$prefix/bin:$PATH
# Keeps the history and settings of shells out of the real home folder.
export HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work

check "bash reads it" bash -n "$bash_file"
check "zsh reads it" zsh -n "$zsh_file"
check "fish reads it" fish --no-config -n "$fish_file"

# ---- What a shell offers for a command line whose last word is incomplete. ----

offered_by_bash() {
    (
        cd "$work/folder" || exit
        # shellcheck source=packaging/completions/gecko-convert.bash
        . "$bash_file"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _gecko_convert 2>/dev/null
        printf '%s\n' "${COMPREPLY[@]}"
    )
}

offered_by_fish() {
    (cd "$work/folder" && fish --no-config -c 'source $argv[1]; complete -C "$argv[2..-1]"' "$fish_file" "$@" | cut -f1)
}

# Zsh completes only on a terminal. So this replaces _arguments and prints what it gets.
specs_of_zsh() {
    (cd "$work/folder" && zsh -f -c '
        _arguments() { print -rl -- "$@" }
        _call_program() { "${@:2}" }
        words=("${@:2}")
        CURRENT=$#words
        file=$1
        () { source $file }' zsh "$zsh_file" "$@" '')
}

# Options without "=".
offered_by_zsh() { specs_of_zsh "$@" | sed -nE -e 's/^\*?(--?[a-zA-Z-]+)=?-?\[.*/\1/p'; }

# The choices of an option of gecko-convert, as words.
choices_in_zsh() { specs_of_zsh gecko-convert | sed -nE "s/^\*?$1=\[[^]]*\]:[^:]*:\(([^)]*)\)/\1/p" | tr ' ' '\n'; }

mkdir -p "$work/folder/deep"
touch "$work/folder/app.trace"

# ---- Options. ----

# same WHAT WANTED GOT: passes if the two files have the same lines.
same() { check "$1" diff <(LC_ALL=C sort -u "$2") <(LC_ALL=C sort -u "$3"); }

# check_options WHAT WORD…: compares with the options in the help text of gecko-convert WORD….
check_options() {
    local about=$1
    shift
    "$program" "$@" --help | sed -nE 's/^ +(-[a-zA-Z], )?(--[a-z][a-z-]+).*/\2/p' >"$work/wanted"
    "$program" "$@" --help | sed -nE 's/^ +(-[a-zA-Z]), --.*/\1/p' >"$work/letters"
    [ -s "$work/wanted" ] || fail "$about: --help names no option"
    for shell in bash fish; do
        "offered_by_$shell" gecko-convert "$@" -- | grep -e '^--' >"$work/got"
        same "$about in $shell" "$work/wanted" "$work/got"
    done
    offered_by_zsh gecko-convert "$@" >"$work/all"
    grep -e '^--' "$work/all" >"$work/got"
    same "$about in zsh" "$work/wanted" "$work/got"
    grep -e '^-[^-]' "$work/all" >"$work/got"
    same "letters of $about in zsh" "$work/letters" "$work/got"
    offered_by_fish gecko-convert "$@" - | grep -e '^-[^-]' >"$work/got"
    same "letters of $about in fish" "$work/letters" "$work/got"
}
check_options "options"
check_options "options of info" info
check_options "options of check" check
check_options "options of view" view

# ---- Choices. ----

# "      --weight samples|period"
"$program" --help | sed -nE 's/^ .*(--[a-z-]+) ([a-z-]+(\|[a-z-]+)+)$/\1 \2/p' >"$work/choices"
[ -s "$work/choices" ] || fail "--help names no choice"
while read -r option choices; do
    tr '|' '\n' <<<"$choices" >"$work/wanted"
    offered_by_bash gecko-convert "$option" '' >"$work/got"
    same "$option in bash" "$work/wanted" "$work/got"
    offered_by_bash gecko-convert "$option" = '' >"$work/got"
    same "$option= in bash" "$work/wanted" "$work/got"
    offered_by_fish gecko-convert "$option" '' >"$work/got"
    same "$option in fish" "$work/wanted" "$work/got"
    choices_in_zsh "$option" >"$work/got"
    same "$option in zsh" "$work/wanted" "$work/got"
done <"$work/choices"

# ---- Files, folders, commands. ----

# offers SHELL WANTED… -- WORD…
offers() {
    shell=$1
    shift
    : >"$work/wanted"
    while [ "$1" != -- ]; do
        echo "$1" >>"$work/wanted"
        shift
    done
    shift
    "offered_by_$shell" "$@" | sed 's|/$||' >"$work/got"
    same "$* in $shell" "$work/wanted" "$work/got"
}
for shell in bash fish; do
    offers "$shell" app.trace -- gecko-convert app
    offers "$shell" app.trace deep -- gecko-convert --report ''
    offers "$shell" deep -- gecko-convert --debug-dir ''
    offers "$shell" info -- gecko-convert inf
    offers "$shell" deep -- gecko-convert view --viewer ''
    offers "$shell" app.trace -- gecko-convert info app
done
finish
