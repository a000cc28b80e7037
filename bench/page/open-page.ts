import { type Client, createClient, type SessionId } from "@holdfast/protocol";
import type { Browser, Page } from "playwright-core";

import { type ServedHost, token } from "../host/served-host.ts";

export function clientOf(host: ServedHost): Client {
  return createClient({ baseUrl: host.address, token });
}

/** A tab of somebody who is signed in and looks at the newest message. */
export async function openPage(
  browser: Browser,
  host: ServedHost,
  session: SessionId,
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const { address } = host;
  await context.request.post(new URL("api/login", address).href, {
    data: { token },
    headers: { origin: new URL(address).origin },
  });
  const page = await context.newPage();
  await page.goto(new URL(`?session=${session}`, address).href);
  await page.getByText("Live", { exact: true }).waitFor();
  return page;
}

export async function say(client: Client, id: SessionId, name: string, text: string) {
  const said = await client.sendMessage({ params: { id }, body: { clientId: name, text } });
  if (!said.ok) throw new Error(`A message: ${said.error.code}`);
}
