"""Path traversal, and files that only attackers request by name."""

from gatewall.engine.waf.builtin.rule import EVERYTHING_SENT, PATH_AND_ARGUMENTS, BuiltinRule
from gatewall.engine.waf.rules import Category, Severity, Target


def _rule(
    key: str, pattern: str, reason: str, score: int = 5, targets: tuple[Target, ...] = EVERYTHING_SENT
) -> BuiltinRule:
    return BuiltinRule(f"traversal-{key}", pattern, Category.TRAVERSAL, Severity.HIGH, targets, reason, score)


_CONFIGURATION = (
    r"(?:php\.ini|my\.cnf|httpd\.conf|nginx\.conf|apache2?\.conf|config\.(?:inc\.php|php)|configuration\.php"
    r"|localsettings\.php|settings\.php|database\.yml|secrets\.yml|server\.xml|(?:application)?context\.xml"
    r"|application\.(?:properties|ya?ml)|desktop\.ini|\.(?:bash_profile|bashrc|zshrc|profile|npmrc|viminfo|lesshst|subversion|config))"
)
_LOGS = r"(?:debug|errors?)\.log"
_ARCHIVES = r"(?:[\w\-]*(?:dump|backup|database|db)\.(?:tar|tgz|zip|gz)|[\w.\-]+\.sql(?:\.save|~|_bak))"
_DATABASES = r"(?:[\w\-]*(?:dump|backup|database|db)\.sql|[\w.\-]+\.sql\.(?:bak|old|orig|swp)|[\w\-]*(?:dump|backup|database|db)\.bak)"
_COPIES = r"bak|backup|old|orig|sw[op]|rdb|mdb|mdf|ldf|kdbx?|pfx|ppk|ovpn"

TRAVERSAL_RULES = (
    _rule(
        "dot-dot",
        r"(?:^|[/\\=:;,\f\x00%@&?|'\"(\s])\.\.[\x00]*(?:;[^/\\]*)?[/\\]|[/\\]\.\.(?:;[^/\\\f]*)?(?:\f|$|[?#])"
        r"|\.{4,}[/\\]{2}|\.{3,}[/\\]+\.{2,}[/\\]|[\w]\.\.[\\/]\.\.|^[/\\.]{4,}\{\w+\}",
        "a path that climbs out of its folder",
    ),
    _rule(
        "system-file",
        r"(?i)(?:^|[/\\:=\s'\"])(?:etc[/\\]+\.?[/\\]*(?:passwd|shadow|group|hosts|motd|fstab|crontab|cron\."
        r"|sudoers|resolv\.conf|ssh|ssl|apache2?|httpd|nginx|mysql|my\.cnf|php|init\.d|rc\.|profile|environment"
        r"|exports|sub[ug]id|security|pam\.|network|sysconfig|issue[.\w]*|[a-z]+-release|hostname|inetd"
        r"|xinetd|proftpd|vsftpd|samba|mtab|ld\.so|pure-ftpd|webmin|wu-ftpd|mime\.types|modprobe|sysctl|systemd"
        r"|termcap|timezone|vmware|vhcs2|openldap|opt|protocols|services|shells|hostapd|firewall|fail2ban"
        r"|docker|kubernetes|letsencrypt|rsyncd|squid|stunnel|openvpn|exim|dovecot|bind|chrony|at\.(?:allow|deny)"
        r"|anacrontab|adduser|aliases|bash|default|gshadow|lighttpd|logrotate|master\.passwd|aide|grub|modules|named"
        r"|ppp|redhat|syslog|udev|updatedb)|proc[/\\]+(?:self|\d+|version|cmdline|cpuinfo|meminfo|mounts|net"
        r"|stat|swaps|modules|devices|ioports|partitions|filesystems|acpi|asound|bootconfig|buddyinfo"
        r"|bus|cgroups|consoles|crypto|diskstats|dma|driver|fb|fs|iomem|irq|key-users|keys|kmsg|kpage\w+"
        r"|latency_stats|locks|misc|mpt|mtrr|pagetypeinfo|sched_debug|scsi|slabinfo|softirqs|sys|thread"
        r"|timer_list|tty|uptime|vmallocinfo|vmstat|zoneinfo|interrupts|kallsyms|loadavg)|var[/\\]+(?:lib|mail"
        r"|spool|run|adm|www|cache|apache|local|webmin)[/\\]|usr[/\\]+(?:local|lib|share|pkg|ports"
        r"|etc)[/\\]+(?:apache|etc|php|pgsql|mysql|zeus|samba|cpanel|nginx|adm)|root[/\\]+\."
        r"|home[/\\]+[\w$]+[/\\]+\.\w|dev[/\\]+(?:tcp|udp|fd|random|shm|sda|stdin)\b|opt[/\\]+(?:lampp|xampp"
        r"|bitnami|tomcat|splunk|ibm)|sys[/\\]+(?:class|kernel|devices)\b|apache\d?[/\\]+(?:logs?|conf)[/\\]"
        r")"
        r"|^[^\s'\"{}]*\blogs?[/\\]+(?:access|error|httpd?|apache)[\w.\-]*log|^(?:[^{}\"]*[/\\:=\s'])?var[/\\]+log[/\\]",
        "the name of a system file that is read first after a break-in",
    ),
    _rule(
        "windows-file",
        r"(?i)\bboot\.ini\b|\bwin\.ini\b|\bsystem\.ini\b|\bwin(?:dows|nt)[/\\]+(?:win\.ini|system|repair|php\.ini"
        r"|temp|debug|panther|my\.ini|iis|explorer|notepad|regedit|wininit)|\bsystem32[/\\]|\bconfig[/\\]+(?:sam"
        r"|software|security|system)\b|\bglobal\.asa\b|\b[a-z]:[/\\]+(?:windows|winnt|inetpub|boot\b"
        r"|program\s?files[^/\\]*[/\\]+(?:apache|mysql|php|xampp|filezilla|microsoft\ssql|mongodb|postgres|iis|common\sfiles)"
        r"|users[/\\]+(?:admin|default|all\s)|documents\sand\s|xampp|wamp|apache|mysql|php|nginx|programdata|perflogs|recycler|sysprep|unattend)"
        r"|\binetpub[/\\]|%(?:systemroot|windir|comspec|programfiles|userprofile|appdata|temp)%"
        r"|\bunattend(?:ed)?\.xml|\bntuser\.dat|\bpagefile\.sys",
        "the name of a system file of Windows",
    ),
    _rule("nul-byte", r"\x00", "a NUL byte, which ends a file name early in some programs", targets=PATH_AND_ARGUMENTS),
    _rule(
        "encoded-dots",
        r"(?i)(?:%c0%ae|%e0%80%ae|%f0%80%80%ae|%f8%80%80%80%ae|%fc%80%80%80%80%ae|%c0%2e|%e0%40%ae|%c0%5e"
        r"|%c0ae)|(?:%(?:25)*2e){2}(?:%(?:25)*(?:2f|5c)|/|\\|;)|%c0%[ef]e|%u(?:efc8|f025)|%(?:c0%[2a]f|c1%9c"
        r"|c1%af|c1%8s|c1%1c|c1%pc|c0%9v|c0%qf|c0%5c|c0%80%5c|e0%80%af|e0%80%9c|f0%80%80%af|f8%80%80%80%af"
        r"|fc%80%80%80%80%af|bg%qf|uff0e|uff0f|uff3c|u002e|u002f|u005c|u2215|u2216|u2024|u2044|"
        r"%2e|25c0%25(?:ae|af))|0x2e0x2e|%%32%(?:65|66)|%%35%63|%5c\.\.|\.\.%5c|\.\.%(?:2f|255c|252f|u)|%2e%2e(?:"
        r"%u|$)|\.%2e(?:/|%2f|%5c)|%2e\.(?:/|%2f|%5c)",
        "dots or slashes in an encoding that only an attacker uses",
        targets=(Target.URI,),
    ),
    _rule(
        "overlong",
        r"[\xc0\xc1][\x80-\xbf]|\xe0[\x80-\x9f][\x80-\xbf]|\xf0[\x80-\x8f][\x80-\xbf][\x80-\xbf]"
        r"|[\xf8-\xfd][\x80-\xbf]{4}",
        "an overlong encoding of a character, which hides what it is",
        3,
        (Target.PATH, *PATH_AND_ARGUMENTS[1:3]),
    ),
    _rule(
        "dotted-hex",
        r"(?i)(?:0x2e|0x5c|\\x2e|&#0*46;?|&#x0*2e;?|%2e|\.)(?:0x2e|\\x2e|&#0*46;?|&#x0*2e;?|%2e|\.)[\x00]*(?:/"
        r"|\\|0x2f|0x5c|&#0*47;?|&#x0*2f;?|%2f|%5c|\xc0[\xaf\x2f]|\xc1[\x9c\x1c]|%c0%|%c1%|%25|%u|%%|%bg"
        r"|[?]/)|(?:\.%00\.|\.\x00\.)[/\\]?|\.{2}[\x80-\xff]{1,4}(?:\.{2}|etc|win|boot)|\.\.[^\w\s.]{1,10}(?:etc"
        r"|windows|winnt|boot\.ini|proc)\b|(?:\?\?|\.)[/\\|]{2,}(?:\.\.|etc|win)|0x(?:2f|5c)(?:etc|windows"
        r"|winnt|boot|proc|\.\.)",
        "a climbing path spelled so that a filter does not see it",
    ),
    _rule(
        "url-file",
        r"(?i)\bfile\s*:\s*/{1,3}|^(?:[\w.\-]+=)?(?:/|\\\\)(?:etc|sys|proc|root|boot|var/log|usr/local|home/\w+|opt|mnt"
        r"|srv)(?:/|$)|^\\\\[\w.\-]+\\",
        "an absolute path or file URL as an argument",
        4,
        (Target.ARGS, Target.ARG_NAMES, Target.BODY, Target.COOKIES),
    ),
    _rule(
        "secret-name",
        r"(?i)(?:^|[/\\=\s'\";|])(?:(?:\.ht(?:access|passwd|group)|web-inf\b|meta-inf\b|web\.(?:config|xml)|wp-config\b"
        r"|\.(?:git|svn|hg|bzr)[/\\](?:config|head|index|entries|logs|objects|wc\.db|hgrc|store)|\.gitconfig"
        r"|\.(?:cursor|claude|codex|aider|continue|kiro|opencode|plandex|fabric|gemini|windsurf|copilot|roo|cline"
        r"|ollama)|\.(?:cursor|aider|claude)\w*ignore|\.ssh|id_(?:rsa|dsa|ecdsa|ed25519)\b"
        r"|authorized_keys|\.(?:bash_history|mysql_history|psql_history|zsh_history"
        r"|netrc|pgpass|my\.cnf|dockercfg|s3cfg|htdigest|ftpconfig|rediscli_history"
        r"|node_repl_history|python_history|sh_history|aws|kube[/\\]config|docker[/\\]config"
        r"|gnupg)|localconfig\.php|sites[/\\][\w.\-]+[/\\]settings\.php|credentials\.json|phpinfo\.php"
        r"|sftp-config\.json|tomcat-users\.xml|\.well-known/\.\."
        r"|[\w.\-]+\.(?:php|asp|aspx|jsp|conf|cfg|ini|yml)(?:\.bak|\.old|\.orig|\.save|\.swp|~|_bak))"
        r"(?:$|[/\\?#'\";,.&|<>)\x00\r])|\.env(?:\.(?:local|prod\w*|dev\w*|stag\w*|test|bak|old|save|orig|backup))?(?:$"
        r"|[/\\?#'\";,&|<>)\x00\r]))",
        "a file that holds settings, secrets or history",
    ),
    _rule(
        "config-name",
        r"(?i)(?:^|[/\\=\s'\";|])(?:"
        + _CONFIGURATION
        + r"|\.DS_Store|"
        + _LOGS
        + r"|config\.yml\.bak|"
        + _DATABASES
        + r"|"
        + _ARCHIVES
        + r")(?:$|[/\\?#'\";,.&|<>)\x00\r])"
        r"|[\w\-]\.(?:" + _COPIES + r")(?:\x00[^/]*)?$|[/\\:=\s'\"]var[/\\]+log[/\\]",
        "the name of a configuration file, a backup or a database, which has other uses, too",
        3,
    ),
    _rule(
        "config-path",
        r"(?i)^/(?:"
        + _CONFIGURATION
        + r"|"
        + _ARCHIVES
        + r"|[\w.\-]+\.(?:"
        + _COPIES
        + r")|(?:[\w\-]+/)?(?:"
        + _LOGS
        + r"|[\w\-]*(?:dump|backup|database|db)\.sql(?:\.\w+)?)|[\w\-]+/[\w.\-]+\.(?:bak|backup|old|orig|sw[op]|rdb))$",
        "a configuration file, backup or database near the document root, which is never linked",
        targets=(Target.PATH,),
    ),
)
