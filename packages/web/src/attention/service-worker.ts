/*
 * Lets the page open without a connection. It keeps the page itself and its files, whose names contain a hash of their
 * content, and nothing else: no answer of the API, no attachment, nothing that needs a sign-in. It is built as a file of
 * its own, so it imports nothing.
 */
interface LifetimeEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface RequestEvent extends LifetimeEvent {
  readonly request: Request;
  respondWith(response: Promise<Response>): void;
}
interface NotificationClick extends LifetimeEvent {
  readonly notification: Notification;
}
interface PageTab {
  focus(): Promise<unknown>;
  navigate(url: string): Promise<unknown>;
}
interface WorkerScope {
  readonly registration: { readonly scope: string };
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { readonly type: "window" }): Promise<readonly PageTab[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: LifetimeEvent) => void): void;
  addEventListener(type: "fetch", listener: (event: RequestEvent) => void): void;
  addEventListener(type: "notificationclick", listener: (event: NotificationClick) => void): void;
}

const worker = globalThis as unknown as WorkerScope;
const cacheName = "holdfast-page-1";
const root = new URL("./", worker.registration.scope);
const assets = new URL("assets/", root).pathname;
const extras = ["mark.svg", "holdfast.webmanifest"].map((name) => new URL(name, root).pathname);

worker.addEventListener("install", (event) => {
  event.waitUntil(keepPage().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(dropOldCaches().then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== root.origin) return;
  if (request.mode === "navigate" && url.pathname === root.pathname)
    event.respondWith(pageFromHostFirst(event));
  else if (url.pathname.startsWith(assets)) event.respondWith(assetFromCacheFirst(request));
  else if (extras.includes(url.pathname)) event.respondWith(extraFromHostFirst(request));
});

worker.addEventListener("notificationclick", (event) => {
  const { notification } = event;
  notification.close();
  const { href } = (notification.data ?? {}) as { readonly href?: string };
  event.waitUntil(openTab(new URL(href ?? "", root).href));
});

async function openTab(url: string): Promise<void> {
  const [tab] = await worker.clients.matchAll({ type: "window" });
  if (tab === undefined) return void (await worker.clients.openWindow(url));
  await tab.focus();
  await tab.navigate(url).catch(() => worker.clients.openWindow(url));
}

/** The host's page wins whenever the host answers, so nobody sees an old one. */
async function pageFromHostFirst(event: RequestEvent): Promise<Response> {
  try {
    const response = await fetch(event.request);
    if (response.ok && !response.redirected) event.waitUntil(replacePage(response.clone()));
    return response;
  } catch (error) {
    const kept = await cached(root.href);
    if (kept === undefined) throw error;
    return kept;
  }
}

/** A file with this name never changes. */
async function assetFromCacheFirst(request: Request): Promise<Response> {
  const kept = await cached(request.url);
  if (kept !== undefined) return kept;
  const response = await fetch(request);
  // The drawing frame has no origin and asks with other headers: what it gets is not kept for the page.
  if (response.ok && response.type === "basic")
    await (await caches.open(cacheName)).put(request.url, response.clone());
  return response;
}

async function extraFromHostFirst(request: Request): Promise<Response> {
  return fetch(request).catch(async () => (await cached(request.url)) ?? Response.error());
}

async function cached(url: string): Promise<Response | undefined> {
  return (await caches.open(cacheName)).match(url);
}

async function keepPage(): Promise<void> {
  const response = await fetch(root.href, { cache: "no-cache" });
  if (!response.ok) throw new Error("The host did not send the page.");
  await replacePage(response);
  const cache = await caches.open(cacheName);
  await cache.addAll(extras);
}

/** A new build has new file names: those that it does not name are dropped, and fetched again if needed. */
async function replacePage(response: Response): Promise<void> {
  const cache = await caches.open(cacheName);
  const text = await response.clone().text();
  const before = await (await cache.match(root.href))?.text();
  if (text === before) return;
  const named = [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(
    ([, path = ""]) => new URL(path, root).href,
  );
  // First its files: a page without them would not open.
  await cache.addAll(named);
  await cache.put(root.href, response);
  for (const { url } of await cache.keys())
    if (new URL(url).pathname.startsWith(assets) && !named.includes(url)) await cache.delete(url);
}

async function dropOldCaches(): Promise<void> {
  for (const name of await caches.keys())
    if (name.startsWith("holdfast-") && name !== cacheName) await caches.delete(name);
}
