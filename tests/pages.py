"""What is in an HTML page: its tags, its text, where its links lead."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collect tags, text, addresses and ids; no attribute may be a script."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.addresses, self.ids, self.text = [], [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "xlink:href", "srcset", "action"):
                self.addresses.append(value)
            if name == "id":
                self.ids.append(value)

    def handle_data(self, data):
        self.text += data
