#compdef gecko-convert
# Completions of gecko-convert for zsh.

local -a options
options=(
    '(-o --output)'{-o,--output=}'[write to FILE]:file:_files'
    '(-f --format)'{-f,--format=}'[format of the profile]:format:(processed gecko)'
    '--from=[format of the trace]:format:(perf-data perf-script collapsed recorder)'
    '--weight=[weight of a perf sample]:weight:(samples period)'
    '--root=[what the first frame of a collapsed stack is]:root:(frame thread)'
    '--symbols=[which addresses to look up]:symbols:(auto none always)'
    '*--debug-dir=[also look for debug information in DIR]:folder:_files -/'
    '--sysroot=[look for files of the trace below DIR first]:folder:_files -/'
    '--sources=[put the text of source files into the profile]:sources:(embed none)'
    '*--source-dir=[also look for source files below DIR]:folder:_files -/'
    '*--source-map=[look for source files of FROM in TO]:FROM=TO:'
    '--sources-max=[embed at most this much]:size:(unlimited)'
    '--product=[name of what was profiled]:name:'
    '*--align=[of several inputs, when FILE begins]:FILE=OFFSET:'
    '--samples=[of several inputs, whose samples to take]:samples:(perf recorder)'
    '--max-memory=[use at most this much memory]:size:(unlimited)'
    '--strict[fail if something would be lost]'
    '--report=[write a report as JSON]:file:_files'
    '--progress=[draw a progress bar]:when:(auto always never)'
    '(-q --quiet)'{-q,--quiet}'[print only errors]'
    '--output-dir=[write the profiles of a batch into DIR]:folder:_files -/'
    '--output-archive=[write the profiles of a batch into an archive]:file:_files'
    '(-j --jobs)'{-j,--jobs=}'[use this many threads, or run this many conversions of a batch at a time]:number:'
    '--if-changed=-[skip inputs that are unchanged since a manifest]::manifest:_files'
    '--report-junit=[write the outcome as JUnit XML]:file:_files'
    '(- *)'{-h,--help}'[show the options]'
    '(- *)'{-V,--version}'[show the version]'
)

case $words[2] in
    info)
        _arguments '--json[print JSON]' '--top=[show at most N rows of each list]:number:' \
            '--from=[format of the traces]:format:(perf-data perf-script collapsed recorder)' \
            '--together[show all files as one profile]' '*--align=[when FILE begins]:FILE=OFFSET:' \
            '--samples=[whose samples to take]:samples:(perf recorder)' \
            '--max-memory=[use at most this much memory]:size:(unlimited)' \
            '(- *)'{-h,--help}'[show the options]' '*:file:_files'
        ;;
    check)
        _arguments '--json[print JSON]' '--max-memory=[use at most this much memory]:size:(unlimited)' \
            '(- *)'{-h,--help}'[show the options]' '*:profile:_files'
        ;;
    view)
        _arguments '--viewer=[a built front-end, or the address of one]:folder:_files -/' \
            '--port=[listen on this port]:number:' '--no-open[do not start a browser]' \
            '--idle-exit=[exit after this long without a request]:seconds:' \
            ${(M)options:#*--(from|weight|root|symbols|debug-dir|sysroot|sources|source-dir|source-map|sources-max|product|align|samples|max-memory)=*} \
            '(-q --quiet)'{-q,--quiet}'[print only the address]' '(- *)'{-h,--help}'[show the options]' '*:input:_files'
        ;;
    *) _arguments -s -S $options '1:input:{ _values command info check view; _files }' '*:input:_files' ;;
esac
