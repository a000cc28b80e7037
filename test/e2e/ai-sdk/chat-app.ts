import { fileURLToPath } from "node:url";
import { launchBrowser } from "@holdfast/testing/browser/browser";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { build, type PluginOption, preview, type ProxyOptions } from "vite";
import { makeFolder } from "../served-host.ts";

type ServedHost = { readonly address: string; readonly token: string };

export interface ChatAppOptions {
  readonly root: string;
  readonly plugins: readonly PluginOption[];
  readonly proxyTo: (host: ServedHost) => Record<string, ProxyOptions>;
}

const ownApp: ChatAppOptions = {
  root: fileURLToPath(new URL("app", import.meta.url)),
  plugins: [],
  proxyTo: ({ address, token }) => ({
    "/ai": { target: address, headers: { authorization: `Bearer ${token}` } },
  }),
};

export interface ChatApp {
  readonly browser: () => Browser;
  /** Opens the application in a browser of its own, on a host's address. */
  readonly open: (chat: string, host: ServedHost) => Promise<ChatTab>;
}

export interface ChatTab {
  readonly page: Page;
  readonly send: (text: string) => Promise<void>;
  /** What the last answer shows. */
  readonly answer: () => Promise<string>;
  readonly status: () => Promise<string>;
  readonly ids: () => Promise<string[]>;
}

/** A React application with `useChat`, built once for a test file and served with its proxy by Vite. */
export function createChatApp({ root, plugins, proxyTo } = ownApp): ChatApp {
  let browser: Browser;
  let outDir = "";
  const cleanups: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    outDir = makeFolder((cleanup) => void cleanups.unshift(cleanup));
    const output = { outDir, emptyOutDir: true, minify: false };
    const built = build({
      root,
      plugins: [...plugins],
      build: output,
      logLevel: "error",
      configFile: false,
    });
    [browser] = await Promise.all([launchBrowser(), built]);
  });
  afterAll(async () => {
    await browser.close();
    for (const cleanup of cleanups) await cleanup();
  });

  return {
    browser: () => browser,
    async open(chat, host) {
      const server = await preview({
        root,
        configFile: false,
        logLevel: "silent",
        build: { outDir },
        preview: {
          port: 0,
          host: "127.0.0.1",
          proxy: proxyTo(host),
        },
      });
      onTestFinished(() => server.close());
      const page = await browser.newPage();
      onTestFinished(() => page.close());
      await page.goto(new URL(`?chat=${chat}`, server.resolvedUrls?.local[0]).href);
      const main = page.locator("main");
      const attribute = async (name: string) => (await main.getAttribute(name)) ?? "";
      return {
        page,
        async send(text) {
          await page.locator("input").fill(text);
          await page.locator("input").press("Enter");
        },
        answer: async () =>
          (
            await page
              .locator("article[data-role=assistant]")
              .last()
              .locator("span")
              .allTextContents()
          ).join(""),
        status: async () => attribute("data-status"),
        ids: async () =>
          page
            .locator("article[data-role=assistant]")
            .evaluateAll((all) => all.map((each) => each.dataset["id"] ?? "")),
      };
    },
  };
}
