#compdef gecko-convert
# Completions of gecko-convert for zsh.

local -a options
options=(
    '(-o --output)'{-o,--output=}'[write to FILE]:file:_files'
    '(-f --format)'{-f,--format=}'[format of the profile]:format:(processed gecko)'
    '--from=[format of the trace]:format:(perf-script collapsed native)'
    '--weight=[what a sample counts]:weight:(samples period)'
    '--root=[what the first frame of a collapsed stack is]:root:(frame thread)'
    '--symbols=[which addresses are looked up]:symbols:(auto none always)'
    '*--debug-dir=[look for debug information in DIR, too]:folder:_files -/'
    '--product=[what the profile is of]:name:'
    '--max-memory=[take no more memory than this]:size:(unlimited)'
    '--strict[fail when something would be lost]'
    '--report=[write what was read, written and lost as JSON]:file:_files'
    '--progress=[draw a progress bar]:when:(auto always never)'
    '(-q --quiet)'{-q,--quiet}'[say nothing but errors]'
    '--output-dir=[write the profiles of a batch into DIR]:folder:_files -/'
    '--output-archive=[write the profiles of a batch into an archive]:file:_files'
    '(-j --jobs)'{-j,--jobs=}'[so many conversions at a time]:number:'
    '--if-changed=-[skip inputs that a manifest knows]::manifest:_files'
    '--report-junit=[write the outcome as JUnit XML]:file:_files'
    '(- *)'{-h,--help}'[show the options]'
    '(- *)'{-V,--version}'[show the version]'
)

case $words[2] in
    info)
        _arguments '--json[write JSON]' '--top=[show N functions]:number:' \
            '--from=[format of the traces]:format:(perf-script collapsed native)' \
            '--max-memory=[take no more memory than this]:size:(unlimited)' \
            '(- *)'{-h,--help}'[show the options]' '*:file:_files'
        ;;
    check)
        _arguments '--json[write JSON]' '--max-memory=[take no more memory than this]:size:(unlimited)' \
            '(- *)'{-h,--help}'[show the options]' '*:profile:_files'
        ;;
    *) _arguments -s -S $options '1:input:{ _values command info check; _files }' '*:input:_files' ;;
esac
