"""Remote code execution (RCE): shell commands."""

from gatewall.engine.waf.builtin.rule import EVERYTHING_SENT, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity

_SEPARATOR = r"(?:[;|`\r]|&&|&\s|\$\(|<\(|>\(|\{)\s*"
_UNIX = (
    r"(?:apt(?:-get)?|aptitude|ash|awk|base32|base64|bash|bsdtar|bunzip2|busybox|bzcat|bzip2|cat|cd|chattr|chgrp"
    r"|chmod|chown|chroot|"
    r"cp|cpio|cpulimit|crontab|csh|curl|dash|dmesg|docker|dos2unix|du|egrep|fgrep|gawk|gcc|gdb|getent|git|grep"
    r"|gunzip|gzip|"
    r"hexdump|hping3|htop|iconv|id|ifconfig|iptables|killall|ksh|lastlog|ldconfig|ls|lsb_release|lscpu|lsof|lsmod"
    r"|lua|"
    r"lwp-(?:download|request|mirror|dump)|lynx|mawk|md5sum|mkdir|mkfifo|mknod|mtr|mysql|mysqldump|nano|nawk|nc|ncat"
    r"|netcat|"
    r"netstat|nmap|nohup|nping|nslookup|nstat|openssl|perl|pip\d?|pkexec|pkill|printenv|printf|ps|psql|pwd"
    r"|python[\d.]*|rcp|"
    r"realpath|rm|rmdir|rpm|rsh|rsync|ruby|rvim|scp|sed|sftp|sh|sha\d+sum|socat|sqlite3|ss|ssh|strace|stty|sudo"
    r"|sysctl|"
    r"systemctl|tac|taskset|tclsh|tcpdump|tcsh|tftp|tmux|traceroute6?|uname|uniq|unzip|useradd|userdel|usermod|vim"
    r"|w3m|wget|"
    r"whoami|xargs|xxd|xz|xzcat|yum|zcat|zgrep|zless|zsh)"
)
_UNIX_AND_ENGLISH = (
    r"(?:alias|arp|at|comm|cut|date|dd|df|diff|dig|echo|ed|emacs|env|eval|exec|expand|export|fetch|file|find|finger"
    r"|fish|fold|ftp|"
    r"head|host|hostname|install|ip|java|jobs|join|kill|last|less|ln|locate|mail|make|more|mount|mv|nice|nl|node|od"
    r"|passwd|"
    r"paste|php\d?|pico|ping6?|reboot|rename|rev|screen|script|service|set|shutdown|sleep|sort|source|split|stat"
    r"|strings|su|"
    r"tail|tar|tee|telnet|time|timeout|top|touch|tr|type|unlink|uptime|vi|view|watch|wc|which|who|whois|zip)"
)
_WINDOWS = (
    r"(?:arp|assoc|attrib|bcdboot|bcdedit|bitsadmin|cacls|certutil|chkdsk|cipher|cmdkey|cscript|csvde|dcdiag|del|dir"
    r"|diskpart|"
    r"diskshadow|doskey|driverquery|dsquery|esentutl|eventcreate|expand|extrac32|findstr|forfiles|fsutil|ftype"
    r"|gpresult|"
    r"hostname|icacls|ipconfig|jetpack|klist|makecab|manage-bde|md|mklink|mmc|msdt|msg|msiexec|mshta|mstsc|nbtstat|"
    r"net1|netsh|netstat|nltest|nslookup|ntdsutil|odbcconf|openfiles|pathping|pnputil|powercfg|powershell|pwsh"
    r"|qprocess|"
    r"qwinsta|rasdial|rd|reg|regedit|regini|regsvr32|ren|rmdir|robocopy|rundll32|runas|schtasks|sc|secedit|setx|sfc"
    r"|subst|"
    r"systeminfo|takeown|taskkill|tasklist|tracert|tscon|tzutil|vssadmin|w32tm|wbadmin|wevtutil|whoami|winrm|winrs"
    r"|wmic|"
    r"wscript|wsl|wusa|xcopy)"
)
_WINDOWS_AND_ENGLISH = r"(?:cd|cmd|copy|date|echo|erase|find|mkdir|more|move|net|path|ping|print|route|set|shutdown|start|time|tree|type|ver|where)"

_EXPLORING = (
    r"(?:awk|base64|bash|busybox|cat|cp|curl|dash|date|dig|dir|echo|env|expr|find|grep|head|host|hostname|id|ifconfig"
    r"|ip|kill|ksh|ls|nc|ncat|netstat|nl|nslookup|od|passwd|perl|php|ping6?|printenv|printf|ps|pwd|python[\d.]*|rm"
    r"|ruby|sed|set|sh|sleep|socat|sort|strings|tac|tail|tee|telnet|touch|traceroute|uname|uptime|wc|wget|which|who"
    r"|whoami|xxd|zsh)"
)


def _rule(key: str, pattern: str, reason: str, score: int = 5) -> BuiltinRule:
    return BuiltinRule(f"rce-{key}", pattern, Category.RCE, Severity.CRITICAL, EVERYTHING_SENT, reason, score)


RCE_RULES = (
    _rule(
        "shell-command",
        r"(?i)" + _SEPARATOR + r"(?:\w+=\S*\s+)*(?:exec\s+|command\s+|time\s+"
        r"|env\s+)?(?:/?[\w./]*/)?"
        r"(?:" + _UNIX + r"(?:\s+[-/~.$\"'\w*?{<>\\]|\s*[|;&`)>}<]|,[-/]|,\w+[./]|\s*$)"
        r"|" + _UNIX_AND_ENGLISH + r"(?:\s+[-/~$*<>\\]|\s*[|;&`)>}<]|,[-/]))",
        "a shell command behind a separator",
        4,
    ),
    _rule(
        "known-command",
        r"(?i)(?:[;|`\r]|&&|\{|^|[\s'\"=(])\s*(?:/?[\w./]*/)?(?:whoami\b(?:\s|$|[;|&/)`])"
        r"|uname\s+-[a-z]+|(?:ifconfig|ipconfig)\b(?:\s+[-/]|\s*$|\s*[;|&)`])|netstat\s+-\w+|cat\s+[/.~$]\S"
        r"|ls\s+-\w+\s*(?:$|[;|&)`'\"./~$*\r])|ls\s+/\w*|ps\s+(?:-?aux|-ef)|wget\s+(?:-\S+\s+)*(?:https?|ftp):"
        r"|curl\s+(?:-\S+\s+)*\S*(?:https?:|\w\.\w)|ping(?:\.exe|6)?\s+-[nci]\s*\d+\s+\S|nslookup\s+\S+"
        r"|nc\s+(?:-\w+\s+)+|ncat\s+-|n(?:et)?cat\s+-\w*[el]|chmod\s+(?:\+x|[0-7]{3,4}|[ugoa]\+\w+)\s+(?:[/.~]|\S*/)|rm\s+-\w*[rf]\w*\s+\S*[/~*$.]"
        r"|bash\s+-[ci]|sh\s+-[ci]|python[\d.]*\s+-c|perl\s+-\w*e|php\s+-r|ruby\s+-\w*e|node\s+-e|lua\s+-e"
        r"|head\s+-\w?\d*\s*/|tail\s+-\w*\s*/|find\s+/\S*\s+-|grep\s+-\w+\s+\S+\s+/|tftp\s+-|telnet\s+\S+\s+\d+"
        r"|echo\s+\S+\s*\|\s*base64|base64\s+-+d|xxd\s+-|openssl\s+s_client|mkfifo\s+/|crontab\s+-"
        r"|systeminfo\b\s*(?:$|[/&|>])|tasklist\s*(?:/|$)|net\s+(?:user|view|localgroup|group|share|start|use)\b"
        r"|dir\s+(?:/\w|[a-z]:\\|\\)|type\s+[%\w]*:?\\|certutil\s+-|bitsadmin\s+/|powershell(?:\.exe)?\s+-\w"
        r"|cmd(?:\.exe)?\s*/[ckr]\b|wmic\s+\w+|reg\s+(?:add|query|delete|save)\s|schtasks\s+/|mshta\s+\w"
        r"|regsvr32\s+/|rundll32\s+\w|vssadmin\s+\w|sleep\s+\d+\s*(?:[;|&`)]|$)|touch\s+/\w|kill\s+-\d"
        r"|useradd\s+-?\w|passwd\s+(?:-\w|root\b)|mail\s+-s\s|sudo\s+-\w+\s)|(?:^|[;|`])\s*id;",
        "a command as it is typed",
    ),
    _rule(
        "separated-command",
        r"(?i)\r\s*(?:/?[\w./]*/)?(?:whoami\b|uname\b|ifconfig\b|(?:id|ls|pwd|ps|env)\s*$|cat\s+[/.~$]|ls\s+[-/]"
        r"|sleep\s+\d|ping\s+-|(?:wget|curl)\s+(?:-|['\"]?https?:)|nslookup\s+\S+\.|systeminfo\b\s*$|tasklist\b|dir\s*$)"
        r"|(?:[;|`]|&&|&\s|\$\(|<\(|>\()\s*(?:/?[\w./]*/)?(?:whoami\b|uname\b|ifconfig\b|cat\s+[/.~$]"
        r"|ls\s+[-/]|ls\s*$|id\s*(?:[;|&`)]|$)|pwd\s*(?:[;|&`)]|$)|ps\s*(?:$|[;&|]|-?\w)|wget\s+\S|curl\s+(?:-"
        r"|['\"]?https?:|\w+\.)|ping\s+-|ping\s+[\d.]{7}|nslookup\s|nc\s+-?\w|ncat\s|chmod\s|rm\s+-|bash\b|sh\s+-"
        r"|sh\s*$|python[\d.]*\s+[-/\w]|perl\s+-|php\s+-|ruby\s+-|sleep\s+\d|echo\s+[\w$'\"`(]|printf\s|printenv\b|env\s*$"
        r"|set\s*$|netstat\b|dir\s*(?:$|[/\\]|[a-z]:)|type\s+(?:[a-z]:|[\\%]|\S+\.(?:txt|ini|log|bat|conf|php|xml))"
        r"|net\s+(?:user|view|localgroup|share|start|use|group)\b|ipconfig\b|systeminfo\b\s*(?:$|[/&|>])|tasklist\b"
        r"|powershell\b|cmd\b|ver\s*$|telnet\s+\S+|tftp\s+-|ssh\s+\S+@|(?:more|less|tac|nl|head|tail)\s+[-/.~*$]"
        r"|find\s+/|grep\s|awk\s|sed\s|cp\s+\S+\s+\S|mv\s+\S+\s+\S|touch\s+[\w~]*[/.]|mkdir\s+-?[\w~]*[/.]"
        r"|cd\s+[\w./~\-]+\s*(?:;|&&|\|)|kill\s+-?\d|export\s+\w+=|uptime\b\s*$|hostname\b\s*(?:$|-)|who\b\s*$|last\b\s*(?:$|-)|df\b\s*(?:$|-)"
        r"|mount\b\s*(?:$|-)|dmesg\b|lsof\b|reboot\b\s*$|shutdown\s|base64\s|xxd\s|od\s+-|strings\s|sort\s+/"
        r"|expr\s+\d|getent\s|phpinfo|exec\s+[/\w]*[/.]|eval\s+[\"'$(])",
        "a separator and a command that is used to explore a machine",
    ),
    _rule(
        "shell-path",
        r"(?i)[;|&`$(<>!{]\s*(?:/usr)?(?:/local)?/s?bin/[\w?*\[{$'\"\\@]|(?:^|[\s='\",])(?:/usr)?(?:/local)?/s?bin/(?:\w*[?*\[{$'\"\\@]|(?:"
        + _UNIX
        + r"|cc|date|dig|dir|echo|env|expr|find|head|host|hostname|ip|kill|nice|nl|od|passwd|php\d?|ping6?|set|sort|strings"
        r"|su|tail|tee|telnet|time|timeout|touch|uptime|wc|which|who)(?:[^\w./-]|$))|\b(?:ba|da|z|k|c|tc"
        r"|a)sh\s+-\w*[ci]\b|/dev/(?:tcp|udp)/|\bcommand\.com\b|\bcmd(?:\.exe)?\s*(?:/|\^|%20)\s*[ckr]\b"
        r"|\bcmd\.exe\b|\bpowershell(?:\.exe)?\b\s*(?:-|\(|\{|\"|\[)|\bscrobj\.dll\b",
        "the path of a shell or program",
    ),
    _rule(
        "substitution",
        r"(?i)\$\(\s*[a-z/.<\"'\\$({]+[^)]*\)?|\$\{IFS\}|\$IFS\b|`\s*(?:/[\w./]*/)?" + _EXPLORING + r"(?:\s[^`]*)?`"
        r"|<\(\s*\w|>\(\s*\w|\$\{[\w#!@:?\-]*[:#%/^,][^}]*\}|\$\{?(?:PATH|HOME|SHELL|PWD"
        r"|OLDPWD|HOSTTYPE|BASH\w*|PS[14])\b",
        "a command whose output becomes part of another",
    ),
    _rule(
        "reverse-shell",
        r"(?i)\bn(?:et)?cat?\b[^\r]*\s-\w*[ec]\b|\b(?:bash|sh)\s+-i\b|/dev/(?:tcp|udp)/|\bmkfifo\b[^\r]*\|\s*(?:nc"
        r"|sh|/bin)|\bsocket\s*\.\s*(?:socket|SOCK_STREAM)|\bpty\.spawn\b|\bfsockopen\s*\(|\|\s*(?:ba|da|z|k)?sh\b"
        r"|\b(?:wget|curl|fetch)\b[^\r|;]*[|;]\s*(?:sudo\s+)?(?:ba|da|z|perl|python|/|\./|chmod|sh\b)"
        r"|\bbase64\s+(?:--decode|-D)\b|\bexec\s+\d+<>|\s--(?:checkpoint-action|use-compress-program|to-command)=|\bxterm\s+-display\b|\btelnet\s+\S+\s+\d+\s*\|",
        "a shell that calls the attacker back",
    ),
    _rule(
        "redirection",
        r"(?i)(?:\s|\w)>{1,2}\s*/(?:dev|tmp|etc|var|proc|root|home|usr|opt|bin)/|<<<\s*['\"$\w{]|[<>]&\d"
        r"|>\s*[/\w.\-]+\.(?:php|jsp|aspx?|sh|txt|html?|log)\b|<\s*/etc/|\|\s*tee\s",
        "output that goes to a file",
        4,
    ),
    _rule(
        "wildcard-path",
        r"/(?:[\w?*]*\?[\w?*]*){1}/[\w?*]*[?*][\w?*/]*|/\w+\[[a-zA-Z^!][\w^\-]{0,7}\]\w+|/\[(?:[a-zA-Z](?:-[a-zA-Z])?|[\^!][\w\-]+)\][/\w]*|/(?:e|et|etc|bi|b|bin|us|usr)\*+/"
        r"|/\?+/|/\{(?:[\w.\-]+,)+[\w.\-]*\}|\{[\w/]+,(?:[\w.\-,]+,)?(?:[/$~\-]|\w+[./])[\w./\-$,]*\}|/(?:bin|etc|usr)/\S*[?*\[]",
        "a path with wildcards, which a shell completes",
        4,
    ),
    _rule(
        "broken-word",
        r"(?i)\b(?:c[\\'\"^]+a[\\'\"^]*t|c[\\'\"^]*a[\\'\"^]+t"
        r"|w[\\'\"^]+g|wh?[\\'\"^]+o|l[\\'\"^]+s|b[\\'\"^]+a|p[\\'\"^]+i)\b|\b[a-z]+\$(?:\{?[@*]\}?|\(\)"
        r"|\{\w\})[a-z]+|\$'\\[x\d]|\bev[\\'\"]+al\b|\$\{!\w+\}|\b[a-z]{1,6}(?:\^[a-z]{1,6}){2,}|%[a-z]+:~\d+,\d+%",
        "a command with quotes between its letters, to get past a filter",
    ),
    _rule(
        "shellshock",
        r"(?:^|: )\(\s*\)\s*\{|\(\s*\)\s*\{\s*:?\w*\s*;\s*\}\s*;",
        "a function definition that old bash versions run (CVE-2014-6271)",
    ),
    _rule(
        "windows-command",
        r"(?i)[;|&`\r]\s*(?:[a-z]:\\[\w\\. ]*\\)?"
        r"(?:" + _WINDOWS + r"(?:\.exe|\.com|\.bat)?(?:\s+[-/\\%\"'\w<]|/\w|\s*[|&>;]|\s*$)"
        r"|" + _WINDOWS_AND_ENGLISH + r"(?:\.exe|\.com)?(?:\s+[-/\\%\"]|\s+[a-z]:|/\w|\s*[|&>]))",
        "a command of Windows behind a separator",
        4,
    ),
    _rule(
        "batch",
        r"(?i)\bfor\b\s+(?:/[dflr]\b[^%]*)*%+[^\s]*\s+in\s*\([^\r]*\)\s*do\b|\bif\b\s+(?:/i\s+)?(?:not\s+)?(?:exist"
        r"|defined|errorlevel|cmdextversion)\s+[\w\"(%!.:\\]|\bif\b\s+(?:/i\s+)?(?:not\s+)?(?:\"[^\"]*\"|\([^()]*\)"
        r"|\[[^\]]*\]|%[^\s=]+|\d+)\s*(?:==|\s(?:equ|neq|lss|leq|gtr|geq)\s)\s*[^\s=]"
        r"|\bif\b\s+(?:/i\s+)?(?:not\s+)?[^\s()=\"]+(?:\s*==\s*[^\s=:]+(?:\s|$)|\s(?:equ|neq|lss|leq|gtr|geq)\s)",
        "FOR or IF of the Windows command line",
    ),
    _rule(
        "shell-arithmetic",
        r"\$\(\(|\$\[[^\]]*\]|\$\{[\w!@]*#[^}]*\}|/(?:etc|bin|usr|var|tmp|dev)/[\w/]*(?:\[[^\]]+\]|[?*])[\w/]*"
        r"|/\?{2,}/\w*[?*]\w*|/\[(?:[a-zA-Z](?:-[a-zA-Z])?|[a-zA-Z]/+|[\^!][\w\-]+)\]\w*(?:/|$)|/\w+\[[a-zA-Z^!][\w/^\-]{0,7}\]\w+|^\s*~[+\-]\d*\s*$|^!-?\d+|!-\d!|\{\s*,[^}]*\}|\{\w+,\}",
        "an expansion that only a shell knows",
    ),
    _rule(
        "alias",
        r"(?i)\balias\s+(?:[+\-]\w\s+)?\w+=|\$\{?SHELL\}?\s+-c|\btime\s+(?:ba|da|z|k)?sh\s+-c|\(sh\)\s*\d?>"
        r"|\b(?:iwmi|icim|gwmi|swmi)\s+-\w|(?:^|[=;|&\s])/?bin/[a-z]\w+\s*(?:$|[;|&])|&(?:bcdboot|aptitude|bcdedit"
        r"|bitsadmin|certutil)\b",
        "a command under another name",
    ),
    _rule(
        "powershell",
        r"(?i)\b(?:invoke-(?:expression|webrequest|restmethod|command|mimikatz|shellcode|item|wmimethod|obfuscation)"
        r"|iex\s*[(\"$]|new-object\s+(?:system\.|net\.|io\.|-com)|downloadstring|downloadfile|start-(?:process"
        r"|bitstransfer|job)|get-(?:content|childitem|process|service|wmiobject|credential|command|item|help|host"
        r"|location|date)\b|set-executionpolicy|-(?:enc(?:odedcommand)?|exec(?:utionpolicy)?|nop(?:rofile)?"
        r"|windowstyle|w\s+hidden)\b|frombase64string|\[system\.(?:text|convert|net|io|reflection)|add-type\b"
        r"|convertto-securestring|out-file\b|import-module\b|select-string\b|write-output\b)",
        "PowerShell",
    ),
    _rule(
        "interpreter",
        r"(?i)\b(?:os\.(?:system|popen|exec\w*|spawn\w*|environ|listdir|getcwd)|subprocess\s*\.\s*(?:popen|call|run"
        r"|check_\w+)|commands\.getoutput|__import__\s*\(|importlib\b|eval\s*\(\s*compile|exec\s*\(\s*['\"]"
        r"|execfile\s*\(|pickle\.loads|cpickle|yaml\.load|platform\.\w+\(\)|kernel\s*\.\s*(?:system|exec|open|fork"
        r"|spawn|`)|io\.(?:popen|read|sysopen)|file\.(?:read|open|write)\s*\(|process\.(?:spawn|clock_gettime|kill)"
        r"|open3\.|%x[\[{(]|dir\.(?:glob|entries)|erb\.new|instance_eval|class_eval|send\s*\(?\s*:(?:system|eval)"
        r"|socket\.gethostby\w+|require\s*\(?\s*['\"](?:open3|socket|child_process|fs|os|net|http|vm|path)['\"])",
        "a call of Python, Ruby or Node that runs a command",
    ),
    _rule(
        "download",
        r"(?i)\{(?:curl|wget|nc|ncat|bash|sh|cat|ls|python\d?|perl|ping|nslookup),[^{}\s]+\}|\b(?:wget|curl|fetch|lwp-download|lynx|aria2c|tftp)\b[\s+]+(?:-\S+\s+)*['\"]?(?:https?|ftp)://"
        r"|\bscp\s+\S+@\S+:|\bgit\s+clone\s+\S*[:/]|[;|&`(]\s*(?:sudo\s+)?(?:pip\d?|npm|gem|apt(?:-get)?|yum)\s+install\b",
        "a command that fetches a file",
    ),
)
