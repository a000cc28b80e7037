import { fileURLToPath } from "node:url";
import { createContext, runInContext } from "node:vm";
import { expect, test } from "vitest";
import type { ProxyOptions } from "vite";
import { createChatApp } from "../ai-sdk/chat-app.ts";
import { countWords } from "../served-host.ts";
import { blockWith, runLines, serveAsDocumented } from "./documentation.ts";

const clients = "docs/clients.md";

const app = createChatApp({
  root: fileURLToPath(new URL("app", import.meta.url)),
  plugins: [
    {
      name: "documented-chat",
      load: (id) => (id.endsWith("/documented-chat.tsx") ? documentedChat() : null),
    },
  ],
  proxyTo: ({ address, token }) => {
    const lines = blockWith(clients, "proxy:")
      .replace("http://127.0.0.1:8787", address)
      .replace("hfk_…", token);
    const server = runInContext(`({ ${lines} })`, createContext()) as {
      proxy: Record<string, ProxyOptions>;
    };
    return server.proxy;
  },
});

function documentedChat(): string {
  return [
    `import { useChat } from "@ai-sdk/react";`,
    `import { DefaultChatTransport } from "ai";`,
    `export function useDocumentedChat() {`,
    blockWith(clients, "useChat({"),
    `return chat; }`,
  ].join("\n");
}

test("the lines for the AI SDK, with a key and the proxy, chat in a browser and go on after a reload", async () => {
  const host = await serveAsDocumented();
  const printed = await runLines(host, blockWith(clients, "keys add my-program"));
  const token = /hfk_\S+/.exec(printed)?.[0] ?? "";
  const chat = await app.open("my-chat", { address: host.address, token });
  await chat.send("{rate:10} {words:40}");
  await expect.poll(async () => countWords(await chat.answer())).toBeGreaterThan(3);
  await chat.page.reload();
  await expect.poll(chat.status).toBe("ready");
  await expect.poll(async () => countWords(await chat.answer())).toBeGreaterThanOrEqual(40);
});
