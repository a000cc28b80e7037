import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { z } from "zod";

const started = z.object({ issuer: z.string(), resource: z.string() });

export interface AuthorizationServer {
  /** The MCP server that takes its tokens only. */
  readonly resource: string;
  /** `host:port`, for the list of what an operator allows. */
  readonly host: string;
  readonly close: () => Promise<void>;
}

/** A real authorisation server in a process of its own, and an MCP server behind it. */
export async function startAuthorizationServer(): Promise<AuthorizationServer> {
  const upstream = await openMcpHttpServer();
  const main = join(import.meta.dirname, "authorization-server-main.mjs");
  const child = spawn(process.execPath, [main, upstream.url], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const [line] = await Array.fromAsync(takeOne(createInterface({ input: child.stdout })));
  const { issuer, resource } = started.parse(JSON.parse(line ?? "null"));
  return {
    resource,
    host: new URL(issuer).host,
    async close() {
      child.stdin.end();
      await exited;
      await upstream.close();
    },
  };
}

async function* takeOne(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) {
    yield line;
    return;
  }
}

/** What a person does in a browser: follows links and redirects, signs in, and allows it. Returns the last page. */
export async function signInInBrowser(link: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = link;
  let body: URLSearchParams | undefined;
  for (let step = 0; step < 20; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      method: body === undefined ? "GET" : "POST",
      redirect: "manual",
      headers: { cookie },
      ...(body !== undefined && { body }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    body = undefined;
    const text = await response.text();
    const location = response.headers.get("location");
    const action = /<form[^>]+action="([^"]+)"/.exec(text)?.[1];
    const next = location ?? action ?? /<a [^>]*href="(\?continue)"/.exec(text)?.[1];
    if (next === undefined) return text;
    url = new URL(next, url).href;
    if (location === null && action !== undefined) {
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? "";
      body = new URLSearchParams({ prompt, login: "ada", password: "any" });
    }
  }
  throw new Error(`No end was reached after ${url}.`);
}
