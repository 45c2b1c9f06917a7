"""`make docs`: check the links, lay the pages out as one site, build it into site/.

The pages live where readers of the repository look for them: at the root, in docs/, in proofs/. The site
keeps that layout, so one relative link serves both. A link to anything that is no page becomes plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pages import LINK, broken_links, pages

ROOT = Path(__file__).resolve().parent.parent
STAGE = ROOT / "build" / "pages"


def lay_out() -> None:
    """Copy every page to the stage; README.md is the front page."""
    shutil.rmtree(STAGE, ignore_errors=True)
    known = {page.resolve() for page in pages(ROOT)}
    for page in known:
        target = STAGE / page.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(LINK.sub(lambda link, page=page: _on_site(link, page, known), page.read_text()))


def _on_site(link: re.Match[str], page: Path, known: set[Path]) -> str:
    target = link["target"].partition("#")[0]
    if "://" in target or not target or (page.parent / target).resolve() in known:
        return link[0]
    return link["text"]


def main() -> None:
    """Build, or stop with the links that lead nowhere."""
    if broken := [link for page in pages(ROOT) for link in broken_links(page)]:
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
    lay_out()
    # The theme is maintained until May 2027 and says so each time; its successor reads mkdocs.yml too.
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(command, cwd=ROOT, check=True, env=quiet)
    print("site/index.html")


if __name__ == "__main__":
    main()
