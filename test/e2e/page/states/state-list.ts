import type { Locator, Page } from "playwright-core";
import { messageField } from "../page-rig.ts";
import { settingsStates } from "./settings-states.ts";
import { at, button, everywhere, heading, type State, usual } from "./state.ts";

const conversationList = (tab: Page): Locator =>
  tab.getByRole("navigation", { name: "Conversations" });

/** The list is beside the conversation on a desk, and behind a button on a phone. */
async function openList(tab: Page): Promise<void> {
  const opener = button(tab, "Show conversations");
  await messageField(tab).waitFor();
  if (await opener.isVisible()) await opener.click();
  await button(tab, "New conversation").waitFor();
}

/** On a phone a panel takes the whole window. */
const besidePanel = (tab: Page): Locator[] =>
  (tab.viewportSize()?.width ?? 0) < 600 ? [] : [messageField(tab)];

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
    // On a phone the diagram is scrolled sideways.
    inView: (tab) => [messageField(tab), tab.locator(".formula.display").first()],
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
      await tab
        .getByText(/^1( of 1 message|\/1)$/)
        .filter({ visible: true })
        .waitFor();
    },
    inView: (tab) => [tab.getByRole("search", { name: "Find in conversation" }), messageField(tab)],
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
      ...besidePanel(tab),
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
      ...besidePanel(tab),
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
    inView: (tab) => [button(tab, /^README\.md/), button(tab, /^charts/), ...besidePanel(tab)],
    sizes: everywhere,
  },
  {
    name: "changed-files",
    at: at("changed"),
    async show(tab) {
      await button(tab, "Changed files").last().click();
      await tab.getByRole("option", { name: "| 3 | 12.4 | 6.2 |" }).click();
      await tab.getByLabel(/^Comment on tables\/june\.md, line 7/).fill("And the others?");
    },
    inView: (tab) => [
      tab.getByRole("option", { name: "| 3 | 12.42 | 6.22 |" }),
      tab.getByLabel(/^Comment on tables\/june\.md, line 7/),
      button(tab, "Add comment"),
    ],
    sizes: everywhere,
  },
  {
    name: "undo-files",
    at: at("changed"),
    async show(tab) {
      await tab
        .locator(".talk-bar")
        .getByRole("button", { name: /^Actions for/ })
        .click();
      await tab.getByRole("menuitem", { name: "Undo turn and files…" }).click();
      await tab.getByRole("dialog").getByText("notes/rounding.md").first().waitFor();
    },
    inView: (tab) => [
      tab.getByRole("radio", { name: "Conversation and files" }),
      tab.getByRole("heading", { name: "Cannot be undone" }),
      tab.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }),
    ],
    sizes: usual,
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
    name: "attachments",
    at: at("tasks"),
    async show(tab) {
      const picker = tab.locator(".composer input[type=file]");
      const tides = "day,high,low\nMon,3.4,0.5\n";
      await picker.setInputFiles([
        { name: "harbour.png", mimeType: "image/png", buffer: await tab.screenshot() },
        { name: "tides.csv", mimeType: "text/csv", buffer: Buffer.from(tides) },
      ]);
      await button(tab, /^Show tides\.csv/).waitFor();
      await button(tab, /^Show harbour\.png/).waitFor();
      await tab.getByText("cannot see pictures", { exact: false }).waitFor();
    },
    inView: (tab) => [
      messageField(tab),
      button(tab, "Send"),
      button(tab, /^Show harbour\.png/),
      button(tab, "Remove harbour.png"),
      button(tab, /^Show tides\.csv/),
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
