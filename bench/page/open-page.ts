import { type Client, createClient } from "@holdfast/client";
import { type SessionId } from "@holdfast/protocol";
import type { Browser, Page } from "playwright-core";

import { type ServedHost, token } from "../host/served-host.ts";

export function clientOf(host: ServedHost): Client {
  return createClient({ baseUrl: host.address, token });
}

/** A blank tab that is signed in. */
export async function openTab(browser: Browser, { address }: ServedHost): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await context.request.post(new URL("api/login", address).href, {
    data: { token },
    headers: { origin: new URL(address).origin },
  });
  return context.newPage();
}

/** A tab that shows the newest messages of a session. */
export async function openPage(browser: Browser, host: ServedHost, id: SessionId): Promise<Page> {
  const page = await openTab(browser, host);
  await page.goto(new URL(`?session=${id}`, host.address).href);
  await page.getByText("Live", { exact: true }).waitFor();
  return page;
}

export async function say(client: Client, id: SessionId, name: string, text: string) {
  const sent = await client.sendMessage({ params: { id }, body: { clientId: name, text } });
  if (!sent.ok) throw new Error(`A message: ${sent.error.code}`);
}
