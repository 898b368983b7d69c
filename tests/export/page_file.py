"""The pages, taken apart by a parser of its own."""
import base64
import collections
import gzip
import html.parser

VOID = {"meta", "br", "link"}
# End tags that HTML lets out.
OPTIONAL = {"li", "dt", "dd", "tr", "td", "th", "thead", "tbody"}


class Page(html.parser.HTMLParser):
    """tags: [(name, attributes)]; text: what is seen, by section; figures:
    the values of data elements by (section or row of totals, class)."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags = []
        self.open = []
        self.text = []
        self.style = ""
        self.styles = []
        self.scripts = []  # (attributes, text)
        self.title = ""
        self.section = None
        self.row = None
        self.figures = collections.defaultdict(list)
        self.faults = []

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(set(names)) != len(names):
            self.faults.append(("attribute twice", tag, names))
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "style":
            self.styles.append("")
        elif tag == "script":
            self.scripts.append((attributes, ""))
        if tag == "section":
            self.section, self.row = attributes["id"], None
        elif tag == "tr":
            self.row = attributes.get("id")
        elif tag == "data":
            self.figures[self.row or self.section, attributes["class"]].append(
                int(attributes["value"]))

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] != tag and \
                self.open[-1] in OPTIONAL:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.faults.append(("end without a start", tag))

    def handle_data(self, text):
        if self.open and self.open[-1] == "style":
            self.style += text
            self.styles[-1] += text
        elif self.open and self.open[-1] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + text)
        elif self.open and self.open[-1] == "title":
            self.title += text
        else:
            self.text.append(text)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def seen(self):
        return "".join(self.text)


def read(data):
    page = Page()
    page.feed(data.decode())
    page.close()
    return page


def carried(page, kind):
    """The bytes of the page's one engine or index."""
    text, = [text for attributes, text in page.scripts
             if attributes.get("data-kind") == kind]
    return gzip.decompress(base64.b64decode(text, validate=True))
