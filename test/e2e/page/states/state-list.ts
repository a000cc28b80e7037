import type { Locator, Page } from "playwright-core";
import { messageField } from "../page-rig.ts";
import { sessionNamed } from "./prepare-states.ts";

export type Size = "desk" | "phone" | "wide";

export interface State {
  readonly name: string;
  readonly at: () => string;
  readonly show: (tab: Page) => Promise<void>;
  /** What has to be in the window then, uncut and uncovered. */
  readonly inView: (tab: Page) => readonly Locator[];
  readonly sizes: readonly Size[];
}

const everywhere: readonly Size[] = ["desk", "phone", "wide"];
const usual: readonly Size[] = ["desk", "phone"];

const at = (name: string) => () => `?session=${sessionNamed(name)}`;
const settings = (section: string) => () => `?settings=${section}`;
const button = (tab: Page, name: string | RegExp): Locator =>
  tab.getByRole("button", { name, exact: typeof name === "string" });
const heading = (tab: Page, name: string): Locator =>
  tab.getByRole("main").getByRole("heading", { name, exact: true });
const conversationList = (tab: Page): Locator =>
  tab.getByRole("navigation", { name: "Conversations" });

/** The list is beside the conversation on a desk, and behind a button on a phone. */
async function openList(tab: Page): Promise<void> {
  const opener = button(tab, "Show conversations");
  await messageField(tab).waitFor();
  if (await opener.isVisible()) await opener.click();
  await button(tab, "New conversation").waitFor();
}

const conversations: readonly State[] = [
  {
    name: "welcome",
    at: () => "",
    show: (tab) => tab.getByText("rehearsal model answers").waitFor(),
    inView: (tab) => [
      heading(tab, "What can I help with?"),
      messageField(tab),
      button(tab, "Send"),
      button(tab, "Rehearsal. Model"),
    ],
    sizes: everywhere,
  },
  {
    name: "conversation",
    at: at("story"),
    show: (tab) => tab.locator(".code .hljs-attr").first().waitFor(),
    inView: (tab) => [messageField(tab), button(tab, "Show context"), button(tab, "Files")],
    sizes: everywhere,
  },
  {
    name: "drawing",
    at: at("drawn"),
    async show(tab) {
      await tab.locator(".formula.display").first().waitFor();
      await tab.getByRole("img", { name: "What pulls at the sea" }).waitFor();
    },
    inView: (tab) => [messageField(tab), tab.getByRole("img", { name: "What pulls at the sea" })],
    sizes: usual,
  },
  {
    name: "approval",
    at: at("asking"),
    show: (tab) => button(tab, /^Allow once/).waitFor(),
    inView: (tab) => [
      tab.locator(".approval-shown"),
      button(tab, /^Allow once/),
      button(tab, /^Deny/),
      messageField(tab),
    ],
    sizes: everywhere,
  },
  {
    name: "change",
    at: at("changing"),
    show: (tab) => tab.locator(".approval-shown .added").first().waitFor(),
    inView: (tab) => [
      tab.locator(".approval-shown"),
      button(tab, /^Allow once/),
      button(tab, /^Deny/),
    ],
    sizes: usual,
  },
  {
    name: "question",
    at: at("question"),
    show: (tab) => button(tab, "Cuxhaven").waitFor(),
    inView: (tab) => [button(tab, "Cuxhaven"), button(tab, "Kiel"), messageField(tab)],
    sizes: usual,
  },
  {
    name: "tasks",
    at: at("tasks"),
    show: (tab) => tab.getByText("Write the report").first().waitFor(),
    inView: (tab) => [tab.getByText("Write the report").first(), messageField(tab)],
    sizes: usual,
  },
  {
    name: "queue",
    at: at("running"),
    show: (tab) => tab.getByText("And a title for both").waitFor(),
    inView: (tab) => [
      tab.getByText("And a title for both"),
      messageField(tab),
      button(tab, "Stop"),
    ],
    sizes: usual,
  },
  {
    name: "stopped",
    at: at("stopped"),
    show: (tab) => button(tab, "Resume").waitFor(),
    inView: (tab) => [button(tab, "Resume"), messageField(tab)],
    sizes: usual,
  },
  {
    name: "versions",
    at: at("edited"),
    show: (tab) => tab.getByRole("group", { name: "Version 2 of 2" }).waitFor(),
    inView: (tab) => [
      tab.getByRole("group", { name: "Version 2 of 2" }),
      button(tab, "Previous version"),
      messageField(tab),
    ],
    sizes: usual,
  },
  {
    name: "editing",
    at: at("edited"),
    async show(tab) {
      const question = tab.getByRole("article", { name: "You" });
      await question.hover();
      await question.getByRole("button", { name: "Edit" }).click();
      await tab.getByRole("textbox", { name: "Edited text" }).waitFor();
    },
    inView: (tab) => [
      tab.getByRole("textbox", { name: "Edited text" }),
      button(tab, "Send edit"),
      button(tab, "Cancel"),
    ],
    sizes: usual,
  },
  {
    name: "find",
    at: at("story"),
    async show(tab) {
      await tab.locator(".code .hljs-attr").first().waitFor();
      await tab.keyboard.press("Control+f");
      await tab.getByRole("search", { name: "Find in conversation" }).waitFor();
      await tab.keyboard.type("reboot");
      await tab.getByText("1 of 1 message", { exact: true }).waitFor();
    },
    inView: (tab) => [
      tab.getByRole("search", { name: "Find in conversation" }),
      messageField(tab),
    ],
    sizes: usual,
  },
];

const panels: readonly State[] = [
  {
    name: "context",
    at: at("story"),
    async show(tab) {
      await button(tab, "Show context").click();
      await tab.getByRole("img", { name: /Cached share/ }).waitFor();
    },
    inView: (tab) => [
      tab.getByRole("img", { name: "Context window usage" }),
      messageField(tab),
      button(tab, "Close"),
    ],
    sizes: everywhere,
  },
  {
    name: "recorder",
    at: at("stopped"),
    async show(tab) {
      await tab.getByRole("article", { name: "Assistant" }).hover();
      await button(tab, "Message actions").last().click();
      await tab.getByRole("menuitem", { name: "Run details" }).click();
      await tab.getByRole("img", { name: "Output over time" }).waitFor();
    },
    inView: (tab) => [
      tab.getByRole("img", { name: "Output over time" }),
      messageField(tab),
      button(tab, "Close"),
    ],
    sizes: usual,
  },
  {
    name: "files",
    at: at("changing"),
    async show(tab) {
      await button(tab, "Files").click();
      await button(tab, /^README\.md/).waitFor();
    },
    inView: (tab) => [button(tab, /^README\.md/), button(tab, /^charts/), messageField(tab)],
    sizes: everywhere,
  },
  {
    name: "preview",
    at: at("changing"),
    async show(tab) {
      await button(tab, "Files").click();
      await button(tab, /^src/).click();
      await button(tab, /^tide\.ts/).click();
      await tab.getByRole("dialog").locator(".hljs-keyword").first().waitFor();
    },
    inView: (tab) => [
      tab.getByRole("dialog").getByText("const high = 12;").last(),
      tab.getByRole("dialog").getByRole("link", { name: "Download" }),
      tab.getByRole("dialog").getByRole("button", { name: "Close" }),
    ],
    sizes: usual,
  },
  {
    name: "models",
    at: at("story"),
    async show(tab) {
      await button(tab, /\. Model$/).click();
      await tab.getByRole("dialog", { name: "Model" }).getByRole("group").first().waitFor();
    },
    inView: (tab) => [
      tab.getByLabel("Search models"),
      tab.getByRole("menuitemradio", { name: /^Rehearsal/ }),
    ],
    sizes: usual,
  },
  {
    name: "palette",
    at: at("story"),
    async show(tab) {
      await tab.getByText("rehearsal").first().waitFor();
      await tab.keyboard.press("Control+k");
      await tab.getByRole("option").first().waitFor();
    },
    inView: (tab) => [tab.getByRole("option").first(), tab.getByRole("combobox")],
    sizes: usual,
  },
  {
    name: "keyboard",
    at: at("story"),
    async show(tab) {
      await tab.locator(".code .hljs-attr").first().waitFor();
      await tab.locator("body").press("Escape");
      await tab.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
      await tab.keyboard.press("?");
      await tab.getByRole("dialog").waitFor();
    },
    inView: (tab) => [tab.getByRole("dialog")],
    sizes: ["desk"],
  },
  {
    name: "list",
    at: at("story"),
    show: openList,
    inView: (tab) => [
      conversationList(tab).getByRole("link", { name: /Tide tables/ }),
      conversationList(tab).getByRole("searchbox"),
      button(tab, "Settings"),
    ],
    sizes: ["phone"],
  },
  {
    name: "selecting",
    at: at("story"),
    async show(tab) {
      const list = conversationList(tab);
      await list.getByRole("link", { name: /Tide tables/ }).hover();
      await list.getByRole("button", { name: "Actions for Tide tables" }).click();
      await tab.getByRole("menuitem", { name: "Select several…" }).click();
      await list.getByRole("checkbox", { name: "Select Tidy the workspace" }).check();
      await list.getByText("2 selected").waitFor();
    },
    inView: (tab) => [conversationList(tab).getByText("2 selected")],
    sizes: ["desk"],
  },
  {
    name: "search",
    at: at("story"),
    async show(tab) {
      await openList(tab);
      await tab.getByRole("searchbox").fill("tide");
      await tab.locator(".hit").first().waitFor();
    },
    inView: (tab) => [tab.getByRole("searchbox"), tab.locator(".hit").first()],
    sizes: usual,
  },
  {
    name: "trash",
    at: at("story"),
    async show(tab) {
      await openList(tab);
      await button(tab, /Filter conversations/).click();
      await tab.getByRole("menuitemradio", { name: "Trash" }).click();
      await tab.getByText("Plans of last year").waitFor();
    },
    inView: (tab) => [tab.getByText("Plans of last year"), button(tab, "Empty trash…")],
    sizes: usual,
  },
];

const settingsStates: readonly State[] = [
  {
    name: "settings",
    at: settings("models"),
    show: (tab) => tab.getByText("Anthropic").first().waitFor(),
    inView: (tab) => [heading(tab, "Models and keys")],
    sizes: everywhere,
  },
  {
    name: "tools",
    at: settings("tools"),
    show: (tab) => tab.getByText("No always-allowed rules.").waitFor(),
    inView: (tab) => [
      heading(tab, "Pending approvals"),
      tab.getByRole("main").getByRole("button", { name: "Open the conversation" }).first(),
    ],
    sizes: usual,
  },
  {
    name: "permissions",
    at: settings("tools"),
    async show(tab) {
      await tab.getByText("No always-allowed rules.").waitFor();
      await tab.getByLabel("Tool policy").waitFor();
      await tab.getByLabel("Tool policy").evaluate((field) => field.scrollIntoView());
    },
    inView: (tab) => [tab.getByLabel("Tool policy")],
    sizes: usual,
  },
  {
    name: "keys",
    at: settings("tools"),
    async show(tab) {
      await tab.getByText("No always-allowed rules.").waitFor();
      await button(tab, "Revoke build-server").waitFor();
      await button(tab, "Revoke build-server").scrollIntoViewIfNeeded();
    },
    inView: (tab) => [button(tab, "Revoke build-server")],
    sizes: usual,
  },
  {
    name: "schedules",
    at: settings("schedules"),
    show: (tab) => tab.getByRole("main").getByRole("link", { name: "Tide tables" }).waitFor(),
    inView: (tab) => [tab.getByText("Before the tide"), button(tab, "New schedule")],
    sizes: usual,
  },
  {
    name: "mcp",
    at: settings("mcp"),
    show: (tab) => tab.getByText("No servers configured.").waitFor(),
    inView: (tab) => [tab.getByText("No servers configured.")],
    sizes: usual,
  },
  {
    name: "gateway",
    at: settings("gateway"),
    show: (tab) => tab.getByText("Connect a Telegram bot").waitFor(),
    inView: (tab) => [tab.getByText("Connect a Telegram bot")],
    sizes: usual,
  },
  {
    name: "editors",
    at: settings("editors"),
    show: (tab) => tab.getByRole("main").locator("h3").first().waitFor(),
    inView: (tab) => [tab.getByRole("main").locator("h2").first()],
    sizes: usual,
  },
  {
    name: "agent",
    at: settings("agent"),
    async show(tab) {
      await button(tab, "Edit Pilot").waitFor();
      await button(tab, "Edit project Tide tables").waitFor();
    },
    inView: (tab) => [tab.getByRole("form", { name: "Custom instructions" }).locator("textarea")],
    sizes: everywhere,
  },
  {
    name: "memory",
    at: settings("memory"),
    show: (tab) => tab.getByText("Lives in Cuxhaven").waitFor(),
    inView: (tab) => [tab.getByText("Lives in Cuxhaven"), button(tab, "Add a fact")],
    sizes: usual,
  },
  {
    name: "usage",
    at: settings("usage"),
    show: (tab) => tab.getByRole("img", { name: "Tokens per day, Last 30 days" }).waitFor(),
    inView: (tab) => [
      tab.getByRole("combobox", { name: "Period" }),
      tab.getByRole("img", { name: "Tokens per day, Last 30 days" }),
    ],
    sizes: everywhere,
  },
  {
    name: "appearance",
    at: settings("appearance"),
    show: (tab) => tab.getByLabel("Font size").waitFor(),
    inView: (tab) => [tab.getByLabel("Font size"), tab.getByLabel("Send messages with")],
    sizes: usual,
  },
  {
    name: "system",
    at: settings("system"),
    show: (tab) => tab.getByRole("main").locator("h3").first().waitFor(),
    inView: (tab) => [tab.getByRole("main").locator("h2").first()],
    sizes: usual,
  },
];

/** It ends the sign-in of the tab, so it is the last one. */
const signIn: State = {
  name: "sign-in",
  at: () => "",
  async show(tab) {
    await messageField(tab).waitFor();
    await tab.context().clearCookies();
    await tab.reload();
    await tab.getByRole("heading", { level: 1 }).waitFor();
  },
  inView: (tab) => [tab.getByRole("heading", { level: 1 }), tab.getByRole("textbox")],
  sizes: usual,
};

export const states: readonly State[] = [...conversations, ...panels, ...settingsStates, signIn];
