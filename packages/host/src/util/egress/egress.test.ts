import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { afterEach, expect, test } from "vitest";

import { createEgress, type EgressRequest } from "./egress.ts";

/** In these tests 127.0.0.2 stands for the public internet, and 127.0.0.1 for the private network. */
const outer = "127.0.0.2";
const inner = "127.0.0.1";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serveAt(address: string, listener: RequestListener, port = 0): Promise<number> {
  const server = createServer(listener).listen(port, address);
  servers.push(server);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A port that is free on one address may be taken on the other. */
async function serveAtBoth(atOuter: RequestListener, atInner: RequestListener): Promise<number> {
  for (;;) {
    const port = await serveAt(outer, atOuter);
    const isTaken = await serveAt(inner, atInner, port).then(
      () => false,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "EADDRINUSE") return true;
        throw error;
      },
    );
    if (!isTaken) return port;
  }
}

/** Two servers on one port, a scripted resolver, and a record of the requests. */
async function openNet(outside: RequestListener) {
  const requests: string[] = [];
  const names = new Map<string, string[]>([
    ["out.test", [outer]],
    ["in.test", [inner]],
    ["both.test", [inner, outer]],
  ]);
  const resolved: string[] = [];
  const port = await serveAtBoth(
    (request, response) => {
      requests.push(`outer ${request.url}`);
      outside(request, response);
    },
    (request, response) => {
      requests.push(`inner ${request.url}`);
      response.end("SECRET");
    },
  );
  const deps = {
    resolve: async (host: string) => {
      resolved.push(host);
      return names.get(host) ?? [];
    },
    isPublic: (address: string) => address === outer,
    isPrivate: (address: string) => address === inner,
    isPort: (candidate: number) => candidate === port,
  };
  const egress = createEgress(deps);
  const get = async (url: string, request?: EgressRequest, client = egress) => {
    const result = await client.request(url.replace("PORT", String(port)), request);
    if (!result.ok) return result.refusal.code;
    const { bytes, ...rest } = result.value;
    return { ...rest, text: Buffer.from(bytes).toString() };
  };
  return { port, requests, names, resolved, deps, get };
}

test("a response has its final URL, its type and its text", async () => {
  const net = await openNet((request, response) => {
    response.setHeader("content-type", 'Text/HTML; charset="utf-8"');
    response.setHeader("set-cookie", "a=b");
    response.end(JSON.stringify(request.headers));
  });
  const first = await net.get("http://out.test:PORT/a?b#c", {
    headers: { accept: "text/html", cookie: "x=y", host: "in.test", "Proxy-Authorization": "z" },
  });
  expect(first).toMatchObject({
    status: 200,
    mediaType: "text/html",
    charset: "utf-8",
    isCut: false,
    url: `http://out.test:${net.port}/a?b#c`,
  });
  const again = await net.get("http://out.test:PORT/");
  for (const response of [first, again]) {
    const text = typeof response === "string" ? response : response.text;
    expect(text).toContain(`"host":"out.test:${net.port}"`);
    expect(text).not.toMatch(/cookie|proxy/i);
  }
});

test("[safety] [CVE-2026-45401] a name is resolved once, and a later answer changes nothing", async () => {
  const net = await openNet((_, response) => void response.end("outside"));
  const answers = [[outer], [inner]];
  const resolve = async () => answers.shift() ?? [inner];
  const client = createEgress({ ...net.deps, resolve });
  expect(await net.get("http://rebound.test:PORT/", {}, client)).toMatchObject({ text: "outside" });
  expect(net.requests).toEqual(["outer /"]);
  expect(answers).toHaveLength(1);
  expect(await net.get("http://rebound.test:PORT/", {}, client)).toBe("address");
  expect(net.requests).toHaveLength(1);
});

test("of a name's addresses only the permitted ones are used", async () => {
  const net = await openNet((_, response) => void response.end("outside"));
  expect(await net.get("http://both.test:PORT/")).toMatchObject({ text: "outside" });
  expect(await net.get("http://in.test:PORT/")).toBe("address");
  expect(await net.get("http://nowhere.test:PORT/")).toBe("unresolved");
  expect(net.requests).toEqual(["outer /"]);
});

test.each([
  ["http://127.0.0.1:PORT/", "address"],
  ["http://0x7f.1:PORT/", "address"],
  ["http://2130706433:PORT/", "address"],
  ["http://0177.0.0.1:PORT/", "address"],
  ["http://①②⑦.0.0.1:PORT/", "address"],
  ["http://[::1]:PORT/", "address"],
  ["http://[::ffff:127.0.0.1]:PORT/", "address"],
  ["http://[64:ff9b::7f00:1]:PORT/", "address"],
  ["http://in.test.:PORT/", "address"],
  ["http://out.test:22/", "port"],
  ["http://user@out.test:PORT/", "credentials"],
  ["http://user:word@out.test:PORT/", "credentials"],
  ["ftp://out.test/", "scheme"],
  ["file:///etc/passwd", "scheme"],
  ["data:text/plain,x", "scheme"],
  ["javascript:alert(1)", "scheme"],
  ["out.test", "bad_url"],
  ["http://", "bad_url"],
  ["", "bad_url"],
  [`http://out.test/${"a".repeat(9_000)}`, "bad_url"],
])("[safety] %s is refused: %s", async (url, code) => {
  const net = await openNet((_, response) => void response.end("outside"));
  expect(await net.get(url)).toBe(code);
  expect(net.requests).toEqual([]);
});

test.each([
  ["a private name", "http://in.test:PORT/", "address"],
  ["a private address", "http://127.0.0.1:PORT/", "address"],
  ["another scheme", "file:///etc/passwd", "scheme"],
  ["another port", "http://out.test:22/", "port"],
  ["credentials", "http://a:b@out.test:PORT/", "credentials"],
  ["itself, forever", "/", "redirect"],
])("[safety] [CVE-2026-45400] a redirect to %s is refused", async (_, location, code) => {
  const net = await openNet((_request, response) => {
    response.writeHead(302, { location: location.replace("PORT", String(net.port)) }).end();
  });
  expect(await net.get("http://out.test:PORT/")).toBe(code);
  expect(net.requests.every((request) => request.startsWith("outer"))).toBe(true);
});

test("[safety] [CVE-2026-25253] a redirect to another origin does not carry the first one's secrets", async () => {
  const net = await openNet((request, response) => {
    if (request.url === "/a") response.writeHead(307, { location: "/b" }).end();
    else if (request.url === "/b")
      response.writeHead(307, { location: `http://other.test:${net.port}/c` }).end();
    else response.end(JSON.stringify(request.headers));
    seen.push(request.headers.authorization);
  });
  const seen: unknown[] = [];
  net.names.set("other.test", [outer]);
  const headers = { authorization: "Bearer key", "x-key": "key" };
  const last = await net.get("http://out.test:PORT/a", { headers });
  expect(last).toMatchObject({ url: `http://other.test:${net.port}/c` });
  expect(JSON.stringify(last)).not.toContain("key");
  expect(seen).toEqual(["Bearer key", "Bearer key", undefined]);
  const post: EgressRequest = { method: "POST", body: Buffer.from("x") };
  expect(await net.get("http://out.test:PORT/a", post)).toBe("redirect");
});

test("[safety] with follows set to its host, a redirect to another host is refused", async () => {
  const net = await openNet((request, response) => {
    if (request.url === "/end") return void response.end("the end");
    const location = request.url === "/near" ? "/end" : `http://other.test:${net.port}/end`;
    response.writeHead(302, { location }).end();
  });
  net.names.set("other.test", [outer]);
  const follows = "its host";
  expect(await net.get("http://out.test:PORT/near", { follows })).toMatchObject({
    text: "the end",
  });
  expect(await net.get("http://out.test:PORT/far", { follows })).toBe("redirect");
  expect(net.requests).toEqual(["outer /near", "outer /end", "outer /far"]);
});

test("an operator can allow a host by its exact name, on one port or on all", async () => {
  const net = await openNet((_, response) => void response.end("outside"));
  const egressAllowing = (entry: string) =>
    createEgress({
      ...net.deps,
      isPort: () => false,
      allow: [entry.replace("PORT", `${net.port}`)],
    });
  const secret = { text: "SECRET" };
  expect(await net.get("http://in.test:PORT/", {}, egressAllowing("in.test"))).toMatchObject(
    secret,
  );
  expect(await net.get("http://IN.test:PORT/", {}, egressAllowing("in.TEST:PORT"))).toMatchObject(
    secret,
  );
  expect(await net.get("http://127.0.0.1:PORT/", {}, egressAllowing("127.0.0.1"))).toMatchObject(
    secret,
  );
  expect(await net.get("http://in.test:PORT/", {}, egressAllowing("in.test:1"))).toBe("port");
  expect(await net.get("http://a.in.test:PORT/", {}, egressAllowing("in.test"))).toBe("port");
  const suffixOnly = createEgress({ ...net.deps, allow: ["test"] });
  expect(await net.get("http://in.test:PORT/", {}, suffixOnly)).toBe("address");
});

test.each([
  ["169.254.169.254", "a metadata service"],
  ["fd00:ec2::254", "a metadata service"],
  ["127.0.0.1", "this machine"],
  ["::1", "this machine"],
  ["::ffff:127.0.0.1", "this machine"],
  ["0.0.0.0", "this machine"],
  ["fe80::1", "a link"],
  ["224.0.0.1", "a group"],
])("[safety] a name that an operator allowed does not lead to %s, %s", async (address) => {
  const net = await openNet((_, response) => void response.end("outside"));
  const allow = ["wiki.test"];
  const client = createEgress({ allow, isPort: () => true, resolve: async () => [address] });
  expect(await net.get("http://wiki.test:PORT/", {}, client)).toBe("address");
  expect(net.requests).toEqual([]);
});

test("an operator can allow this machine by its address or as localhost", async () => {
  const net = await openNet((_, response) => void response.end("outside"));
  const resolve = async () => [inner];
  for (const allow of [["wiki.test", inner], ["localhost"]]) {
    const client = createEgress({ allow, isPort: () => true, resolve });
    const url = `http://${allow[0]}:PORT/`;
    expect(await net.get(url, {}, client)).toMatchObject({ text: "SECRET" });
  }
});

test("a large body is cut or refused, and a decompression bomb is unpacked no further than the limit", async () => {
  const zeros = Buffer.alloc(8 * 1024 * 1024);
  const bodies: Record<string, [string, Buffer]> = {
    "/gzip": ["gzip", gzipSync(zeros)],
    "/br": ["br", brotliCompressSync(zeros)],
    "/plain": ["identity", zeros.subarray(0, 1_000_000)],
    "/nested": ["gzip, gzip", gzipSync(gzipSync(zeros))],
    "/lying": ["gzip", Buffer.from("this is not packed")],
  };
  const net = await openNet((request, response) => {
    const [encoding, body] = bodies[request.url ?? ""] ?? ["identity", Buffer.from("?")];
    response.writeHead(200, { "content-encoding": encoding }).end(body);
  });
  const limit = { mostBytes: 1_000 };
  for (const path of ["gzip", "br", "plain"]) {
    const cut = await net.get(`http://out.test:PORT/${path}`, { ...limit, whenLarger: "cut" });
    expect(cut).toMatchObject({ isCut: true, text: "\0".repeat(1_000) });
    expect(await net.get(`http://out.test:PORT/${path}`, limit)).toBe("too_large");
  }
  expect(await net.get("http://out.test:PORT/nested", limit)).toBe("encoding");
  expect(await net.get("http://out.test:PORT/lying", limit)).toBe("connection");
});

test("a body of an unwanted type is not read", async () => {
  const net = await openNet((_, response) => {
    response.writeHead(200, { "content-type": "application/zip" }).write("begun and never ended");
  });
  const takes = (type: string) => type.startsWith("text/");
  expect(await net.get("http://out.test:PORT/", { takes })).toBe("content_type");
});

test("a request that never ends, is cancelled or cut off is given up", async () => {
  const net = await openNet((request, response) => {
    if (request.url === "/endless") response.write("a");
    if (request.url === "/cut") response.write("a", () => response.destroy());
  });
  const timeLimitMs = 50;
  expect(await net.get("http://out.test:PORT/silent", { timeLimitMs })).toBe("time");
  expect(await net.get("http://out.test:PORT/endless", { timeLimitMs })).toBe("time");
  expect(await net.get("http://out.test:PORT/cut")).toBe("connection");
  const stuck = createEgress({ ...net.deps, resolve: () => new Promise(() => {}) });
  expect(await net.get("http://out.test:PORT/", { timeLimitMs }, stuck)).toBe("time");
  const cancel = new AbortController();
  const pending = net.get("http://out.test:PORT/silent", { signal: cancel.signal });
  cancel.abort();
  expect(await pending).toBe("cancelled");
});

test("oversized headers are refused", async () => {
  const net = await openNet((_, response) => {
    response.setHeader("x", "a".repeat(100_000));
    response.end();
  });
  expect(await net.get("http://out.test:PORT/")).toBe("connection");
});
