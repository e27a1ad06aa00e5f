"""The page of `mem ui`: memory looked at and corrected in a browser of this machine, over `memcli.api`.

`server` decides who may ask, `views` makes HTML of what is asked for, `actions` change memory as the commands do. The
page itself is plain HTML, CSS and one module in `static/`; each view is a template, so that nothing an entry says is
ever markup.
"""
