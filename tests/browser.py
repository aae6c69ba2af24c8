"""Look at a page in Debian's chromium: does it fit, is all drawn, is it silent?"""

from contextlib import contextmanager

LOOK = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const root = document.documentElement, images = [...document.images];
  const drawings = [...document.querySelectorAll("figure svg")];
  return {
    overflow: root.scrollWidth - root.clientWidth,
    broken: images.filter((one) => !one.complete || !one.naturalWidth).length,
    drawings: drawings.length,
    flat: drawings.filter((one) => one.getBoundingClientRect().height < 50).length,
  };
}"""


@contextmanager
def shown(chromium, address, width, height=900, **options):
    """Open a page; at the end it may have said nothing, but for what is taken back."""
    viewport = {"width": width, "height": height}
    context = chromium.new_context(viewport=viewport, **options)
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("dialog", lambda dialog: page.said.append("a dialog: " + dialog.message))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(address)
    yield page
    context.close()
    assert not page.said


def look(chromium, path, width):
    """Open a page, all its details unfolded; return what is in it."""
    with shown(chromium, path.as_uri(), width) as page:
        return page.evaluate(LOOK)
