#!/bin/sh
# install.sh install|uninstall: installs files below DESTDIR, or removes them. INSTALLED_FILES has one line per file:
# "MODE FILE DESTINATION" or "link TARGET DESTINATION".
set -eu
action=$1

place() {
    case $1 in
        link)
            mkdir -p "$(dirname "$3")"
            ln -sfn "$2" "$3"
            ;;
        *) install -D -m "$1" "$2" "$3" ;;
    esac
}

printf '%s\n' "$INSTALLED_FILES" | while read -r mode file where; do
    [ -n "$where" ] || continue
    echo "  $action $DESTDIR$where"
    case $action in
        install) place "$mode" "$file" "$DESTDIR$where" ;;
        uninstall) rm -f "$DESTDIR$where" ;;
    esac
done
