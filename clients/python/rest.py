"""Requests as bytes, signed by hand: for what the SDKs do not send or would not show."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import urllib.parse

from lapsedb import KEY


def ask(server, method, path, body=b"", headers=(), connection=None):
    """Sends one request; returns its status, its headers (by lower-case name) and its body. A given connection stays open."""
    segments = path.strip("/").split("/")
    is_feed = len(segments) % 2 == 1
    kind = segments[-1] if is_feed else segments[-2]
    link = "/".join(segments[:-1] if is_feed else segments)
    date = email.utils.formatdate(usegmt=True).lower()
    text = f"{method.lower()}\n{kind}\n{link}\n{date}\n\n"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    token = f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}"
    sent = {
        "authorization": urllib.parse.quote(token, safe=""),
        "x-ms-date": date,
        "x-ms-version": "2020-07-15",
        "content-type": "application/json",
        **dict(headers),
    }
    own = connection is None
    if own:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request(method, "/" + path.lstrip("/"), body, sent)
        answer = connection.getresponse()
        got = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, got, answer.read()
    finally:
        if own:
            connection.close()
