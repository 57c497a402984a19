"""Sphinx's settings for the book; build.py calls it with the root of the repository as its folder."""

from pathlib import Path

from hiding_latency.places import version_of

project = "Hiding latency"
release = version = version_of(Path(__file__).parents[2])
html_last_updated_fmt = "%d %B %Y"
language = "en"
extensions = [
    "myst_nb",
    "sphinx_copybutton",
    "tools.book.about",
    "tools.book.alt_text",
    "tools.book.came_out",
    "tools.book.cuda_lexer",
    "tools.book.cuda_lines",
    "tools.book.excerpts",
    "tools.book.glossary",
    "tools.book.live",
]
nb_execution_mode = "off"  # the notebooks bring the outputs of their run
nb_merge_streams = True
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
copybutton_selector = "div.highlight pre:not(.linenos *, .cell_output *)"  # code, not what it prints

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["look.css", "book.css", "front.css"]
html_js_files = ["book.js"]
html_favicon = "static/favicon.svg"
html_context = {"default_mode": "auto"}
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # a summary fetches its page, which a browser refuses for plain files
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "article_header_start": ["toggle-primary-sidebar.html", "breadcrumbs.html"],
    "home_page_in_toc": True,
    "show_toc_level": 2,
    "search_bar_text": "Search the book",
    "footer_content_items": "colophon.html",
}
