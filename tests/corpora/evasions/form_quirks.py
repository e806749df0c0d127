"""Quirks of forms: names, separators, escapes, limits, what stands around the attack, and spellings of the media type."""

from urllib.parse import quote

from tests.corpora.evasions.making import FORM, Make, all_encoded, form

_PAGE = quote("<p>Our notes about the week, with all that happened</p><p>{}</p><ul><li>and more</li></ul>")
_CODE = quote("# Notes\n\nHow we begin:\n\n```\n{}\n```\n\nAnd how we go on.\n")
_TABLE = quote("number,name,remark\r\n1,Mary,likes tea\r\n2,John,{}\r\n3,Anna,is away\r\n")
_REPLY = quote("Thank you!\r\n\r\nOn Monday Mary wrote:\r\n> see below\r\n> {}\r\n\r\nBest wishes, John\r\n")
_HEADERS = quote("Subject: hello\r\nFrom: mary@site.test\r\nX-Remark: {}\r\nDate: today\r\n")
_SCRIPT = quote("var a = 1;\nvar b = [2, 3];\nlog(a, b);\n{}\nlog(a + b);\n")


def _within(quoted: str) -> Make:
    return form("a=" + quoted.replace("%7B%7D", "{}"))


def _wide(text: str) -> str:
    return "".join(f"%u{ord(each):04x}" for each in text)


def _mixed_case(text: str) -> str:
    return "".join(f"%{byte:02X}" if byte % 2 else f"%{byte:02x}" for byte in text.encode())


FORMS: dict[str, Make] = {
    "a semicolon as separator": form("x=1;a={}"),
    "a semicolon behind the separator": form("x=1&;a={}"),
    "a line break as separator": form("x=1\r\na={}"),
    "an encoded separator": form("x=1%26a={}"),
    "an encoded equals sign": form("a%3D{}"),
    "every character as %u": form("a={}", encode=_wide),
    "hexadecimal digits in both cases": form("a={}", encode=_mixed_case),
    "a malformed escape before it": form("a=%zz{}"),
    "a percent sign before it": form("a=100%+{}"),
    "a percent sign at the end": form("a={}%"),
    "half an escape at the end": form("a={}%4"),
    "a percent sign that is encoded before it": form("a=%25{}"),
    "a list without numbers in a list": form("a[][]={}"),
    "a list in a name": form("a[b][]={}"),
    "a name that begins with a bracket": form("[a]={}"),
    "a name that ends in a bracket": form("a]={}"),
    "text behind the brackets": form("a[b]c={}"),
    "brackets in brackets": form("a[[b]]={}"),
    "empty brackets alone": form("[]={}"),
    "a form's empty name": form("={}"),
    "a name and a list of the same name": form("a=1&a[b]={}"),
    "a list and a name of the same name": form("a[b]=1&a={}"),
    "the same number twice": form("a[0]=1&a[0]={}"),
    "a number above the limit of a list": form("a[21]={}"),
    "a very large number": form("a[99999999999999999999]={}"),
    "a negative number": form("a[-1]={}"),
    "a number with a sign": form("a[+1]={}"),
    "30 levels of brackets": form("a" + "[b]" * 30 + "={}"),
    "70 levels of brackets": form("a" + "[b]" * 70 + "={}"),
    "a prototype": form("__proto__[a]={}"),
    "a constructor": form("constructor[prototype][a]={}"),
    "a method of objects": form("hasOwnProperty={}"),
    "the length of a list": form("a[length]={}"),
    "a dot at the beginning of a name": form(".a={}"),
    "a name with a dot and one with an underscore": form("a_b=1&a.b={}"),
    "a tab in a name": form("%09a={}"),
    "a line break in a name": form("a%0D%0Ab={}"),
    "a name that is not ASCII": form("%C3%A9={}"),
    "a name that is no UTF-8": form("%ff={}"),
    "a quoted name": form('"a"={}'),
    "a name with a slash": form("a/b={}"),
    "a name with a dollar": form("$a={}"),
    "a number as name": form("0={}"),
    "a variable of PHP as name": form("GLOBALS[a]={}"),
    "a name of 4 KiB": form("a" * 4_096 + "={}"),
    "a name of 300 characters that may be base64": form("YWJjZGVm" * 37 + "={}"),
    "a mark of UTF-8 before it": form("a=%EF%BB%BF{}"),
    "bytes that are no UTF-8 before it": form("a=%ff%fe{}"),
    "raw bytes before it": form("a=\xff\xe9{}"),
    "a NUL before it": form("a=%00{}"),
    "a NUL behind it": form("a={}%00"),
    "a raw NUL before it": form("a=\x00{}"),
    "behind a vertical tab": form("a=%0b{}"),
    "behind a form feed": form("a=%0c{}"),
    "behind a backspace": form("a=%08{}"),
    "behind a delete": form("a=%7f{}"),
    "behind a no-break space": form("a=%C2%A0{}"),
    "behind a space of no width": form("a=%E2%80%8B{}"),
    "behind a change of direction": form("a=%E2%80%AE{}"),
    "behind a line separator": form("a=%E2%80%A8{}"),
    "behind a hash": form("a=1#{}"),
    "behind a question mark": form("a=1?{}"),
    "behind a line feed alone": form("a=1%0A{}"),
    "behind several equals signs": form("a===={}"),
    "a question mark before the form": form("?a={}"),
    "blanks before the form": form("  a={}"),
    "line breaks before the form": form("\r\n\r\na={}"),
    "a mark before the form": form("\xef\xbb\xbfa={}"),
    "line breaks behind the form": form("a={}\r\n\r\n"),
    "a NUL behind the form": form("a={}&\x00"),
    "the 990th": form("".join(f"x{each}=1&" for each in range(980)) + "a={}"),
    "the 1,010th": form("".join(f"x{each}=1&" for each in range(1_009)) + "a={}"),
    "behind 900 empty pairs": form("&" * 900 + "a={}"),
    "behind 20 KiB in another argument": form("b=" + "x+y+" * 5_000 + "&a={}"),
    "behind 60 KiB in another argument": form("b=" + "word+" * 12_000 + "&a={}"),
    "before 40 KiB": form("a={}+" + "word+" * 8_000),
    "behind 4 KiB of escapes": form("b=" + "%41" * 1_400 + "&a={}"),
    "behind 30 KiB of escapes": form("b=" + "%41" * 10_000 + "&a={}"),
    "all of 20 KiB of escapes": form("a=" + "%78+" * 5_000 + "{}", encode=all_encoded),
    "in a list with commas": form("a=1,{},2"),
    "a sign for UTF-8": form("utf8=%E2%9C%93&a={}"),
    "a sign for Latin-1": form("utf8=%26%2310003%3B&a={}"),
    "a charset as an argument": form("_charset_=utf-7&a={}"),
    "another method as an argument": form("_method=PUT&a={}"),
    "quoted": form('a="{}"'),
    "in brackets": form("a=({})"),
    "a text of JSON": form('a=["{}"]'),
    "the query of a URL": form("a=https://site.test/?q={}"),
    "in the markup of an editor": _within(_PAGE),
    "in a block of code": _within(_CODE),
    "in a table": _within(_TABLE),
    "in a reply": _within(_REPLY),
    "in lines of headers": _within(_HEADERS),
    "in a script": _within(_SCRIPT),
}
_TYPES = {
    "a semicolon behind the media type": f"{FORM};",
    "two semicolons behind the media type": f"{FORM};;charset=utf-8",
    "a blank behind the media type": f"{FORM} ",
    "a tab behind the media type": f"{FORM}\t; charset=utf-8",
    "a charset twice": f"{FORM}; charset=utf-8; charset=utf-7",
    "a charset without a value": f"{FORM}; charset",
    "an empty charset": f"{FORM}; charset=",
    "a charset in single quotes": f"{FORM}; charset='utf-8'",
    "a charset with an open quote": f'{FORM}; charset="utf-8',
    "charset UTF_8": f"{FORM}; charset=UTF_8",
    "charset u8": f"{FORM}; charset=u8",
    "charset utf8": f"{FORM}; charset=utf8",
    "an unknown charset": f"{FORM}; charset=x-unknown",
    "charset us-ascii": f"{FORM}; charset=us-ascii",
    "charset iso-8859-1": f"{FORM}; charset=iso-8859-1",
    "a boundary of a form": f"{FORM}; boundary=b",
    "a comment behind the media type": f"{FORM} (as sent)",
    "a comma behind the media type": f"{FORM},",
    "another media type behind it": f"{FORM}, text/html",
    "another media type before it": f"text/html, {FORM}",
    "a media type of parts before it": f"multipart/form-data; boundary=b, {FORM}",
    "text behind the media type": f"{FORM}x",
    "text behind a blank": f"{FORM} text/html",
    "a parameter with a quoted semicolon": f'{FORM}; x="a;b"; charset=utf-8',
    "40 parameters": FORM + "".join(f"; x{each}=1" for each in range(40)),
}
FORMS |= {name: form("a={}", kind) for name, kind in _TYPES.items()}
