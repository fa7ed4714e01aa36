"""The endpoint of the tests itself."""

import http.client

from tests.endpoint import Endpoint, KeepAlive


def test_a_connection_is_kept_for_the_next_request():
    with KeepAlive() as server:
        endpoint = Endpoint(server)
        connection = http.client.HTTPConnection(server.host, server.port, timeout=20)
        for _ in range(2):
            connection.request("POST", "/v1/chat/completions", b'{"messages": []}')
            assert connection.getresponse().read()
        connection.close()
    assert len({request.environ["REMOTE_PORT"] for request in endpoint.requests}) == 1
