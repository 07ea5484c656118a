# Completions of gecko-convert for fish.

set -l info '__fish_seen_subcommand_from info'
set -l check '__fish_seen_subcommand_from check'
set -l convert 'not __fish_seen_subcommand_from info check'

complete -c gecko-convert -n __fish_is_first_token -a info -d 'Show what is in traces and profiles'
complete -c gecko-convert -n __fish_is_first_token -a check -d 'Check profiles against the rules of their format'

complete -c gecko-convert -n $convert -s o -l output -r -F -d 'Write to FILE'
complete -c gecko-convert -n $convert -s f -l format -x -a 'processed gecko' -d 'Format of the profile'
complete -c gecko-convert -n "$convert; or $info" -l from -x -a 'perf-script collapsed native' -d 'Format of the trace'
complete -c gecko-convert -n $convert -l weight -x -a 'samples period' -d 'What a sample counts'
complete -c gecko-convert -n $convert -l root -x -a 'frame thread' -d 'What the first frame of a collapsed stack is'
complete -c gecko-convert -n $convert -l symbols -x -a 'auto none always' -d 'Which addresses are looked up'
complete -c gecko-convert -n $convert -l debug-dir -x -a '(__fish_complete_directories)' -d 'Look for debug information in DIR, too'
complete -c gecko-convert -n $convert -l product -x -d 'What the profile is of'
complete -c gecko-convert -l max-memory -x -a unlimited -d 'Take no more memory than SIZE'
complete -c gecko-convert -n $convert -l strict -d 'Fail when something would be lost'
complete -c gecko-convert -n $convert -l report -r -F -d 'Write what was read, written and lost as JSON'
complete -c gecko-convert -n $convert -l progress -x -a 'auto always never' -d 'Draw a progress bar'
complete -c gecko-convert -n $convert -s q -l quiet -d 'Say nothing but errors'
complete -c gecko-convert -n $convert -l output-dir -x -a '(__fish_complete_directories)' -d 'Write the profiles of a batch into DIR'
complete -c gecko-convert -n $convert -l output-archive -r -F -d 'Write the profiles of a batch into an archive'
complete -c gecko-convert -n $convert -s j -l jobs -x -d 'So many conversions at a time'
complete -c gecko-convert -n $convert -l if-changed -d 'Skip inputs that a manifest knows'
complete -c gecko-convert -n $convert -l report-junit -r -F -d 'Write the outcome as JUnit XML'

complete -c gecko-convert -n "$info; or $check" -l json -d 'Write JSON'
complete -c gecko-convert -n $info -l top -x -d 'Show N functions'

complete -c gecko-convert -s h -l help -d 'Show the options'
complete -c gecko-convert -n $convert -s V -l version -d 'Show the version'
