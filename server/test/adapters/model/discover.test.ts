import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { findLocalEndpoint } from '../../../src/adapters/model/discover.ts';
import { createTestClock } from '../../support/clock.ts';

/** A web server that is no model server; answers what `listener` answers. */
async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    ports: [{ name: 'x', port: (server.address() as AddressInfo).port }],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test.each<[string, number, string]>([
  ['a web page', 200, '<html></html>'],
  ['other JSON', 200, '{"models":["a"]}'],
  ['a list that is empty', 200, '{"data":[]}'],
  ['a list that is null', 200, '{"object":"list","data":null}'],
  ['a list of something else', 200, '{"data":[{"id":"a"},{"name":"b"}]}'],
  ['a refusal', 401, '{"data":[{"id":"a"}]}'],
  ['more than a list of models can be', 200, `{"data":[{"id":"${'a'.repeat(2_000_000)}"}]}`],
])('a server that answers %s is not taken for a model server', async (_, status, body) => {
  await using server = await serve((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  expect(await findLocalEndpoint({ clock: createTestClock() }, { ports: server.ports })).toBeNull();
});

test('a redirect is not followed, not even to a list of models', async () => {
  await using other = await serve((_request, response) => {
    response.end('{"data":[{"id":"a"}]}');
  });
  await using server = await serve((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${other.ports[0]?.port}/v1/models` }).end();
  });
  expect(await findLocalEndpoint({ clock: createTestClock() }, { ports: server.ports })).toBeNull();
});

test('a server that does not answer is given 300 ms', async () => {
  const asked = Promise.withResolvers<void>();
  await using server = await serve(() => asked.resolve());
  const clock = createTestClock();
  let answer: unknown = 'none yet';
  const finding = findLocalEndpoint({ clock }, { ports: server.ports }).then((found) => (answer = found));
  await asked.promise;
  await clock.advance(299);
  expect(answer).toBe('none yet');
  await clock.advance(1);
  expect(await finding).toBeNull();
});
