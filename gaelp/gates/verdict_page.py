"""The page of a verdict with its pictures, as markdown and as one HTML file that needs nothing else."""

from markdown_it import MarkdownIt

from gaelp.gates.verdict import Verdict
from gaelp.gates.verdict_context import VerdictContext
from gaelp.gates.verdict_plot import as_png, curve_png
from gaelp.gates.verdict_table import as_markdown

__all__ = ["verdict_html", "verdict_markdown"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }
h2, h3 { line-height: 1.2; margin-top: 2rem; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.3rem 0.8rem 0.3rem 0; text-align: left; vertical-align: top; }
li { margin: 0.3rem 0; overflow-wrap: anywhere; }
"""


class _PicturesOnly(MarkdownIt):
    """Markdown whose links and pictures lead nowhere but into the page."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the name that the parser calls
        """Only pictures that are part of the page."""
        return url.startswith("data:image/png;base64,")


def verdict_markdown(verdict: Verdict, context: VerdictContext) -> str:
    """The page with a picture of the rules, those of the context, and the learning curve where there is one."""
    curve = curve_png(context.curve) if context.curve else None
    return as_markdown(verdict, context, rules_plot=as_png(verdict), curve_plot=curve)


def verdict_html(verdict: Verdict, context: VerdictContext) -> str:
    """The same as a page for a browser; pictures are inside."""
    parser = _PicturesOnly("commonmark", {"html": False}).enable("table")
    body = parser.render(verdict_markdown(verdict, context))
    title = f"Gate {verdict.gate.name}: {verdict.outcome}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
