import { button, everywhere, heading, type State, usual } from "./state.ts";

const settings = (section: string) => () => `?settings=${section}`;

export const settingsStates: readonly State[] = [
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
      tab.getByRole("main").getByText("Open the conversation").first(),
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
      await button(tab, "Revoke the key of build-server").waitFor();
      await button(tab, "Revoke the key of build-server").scrollIntoViewIfNeeded();
    },
    inView: (tab) => [button(tab, "Revoke the key of build-server")],
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
    show: (tab) => tab.getByText("No servers yet.").waitFor(),
    inView: (tab) => [tab.getByText("No servers yet.")],
    sizes: usual,
  },
  {
    name: "skills",
    at: settings("agent"),
    async show(tab) {
      await heading(tab, "Skills").waitFor();
      await heading(tab, "Skills").evaluate((title) => title.scrollIntoView());
    },
    inView: (tab) => [heading(tab, "Skills")],
    sizes: usual,
  },
  {
    name: "guidance",
    at: settings("agent"),
    async show(tab) {
      const part = tab.locator("summary").filter({ hasText: "Using the tools" });
      await part.click();
      await part.evaluate((title) => title.scrollIntoView());
    },
    inView: (tab) => [tab.getByRole("form", { name: "Using the tools" }).getByRole("textbox")],
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
    name: "import",
    at: settings("import"),
    show: (tab) => button(tab, /^Show the import from hermes/).waitFor(),
    inView: (tab) => [
      tab.getByLabel("Import from", { exact: true }),
      tab.getByLabel("Folder on the host’s machine"),
    ],
    sizes: usual,
  },
  {
    name: "import-report",
    at: settings("import"),
    async show(tab) {
      await button(tab, /^Show the import from hermes/).click();
      const report = tab.getByRole("region", { name: "Preview: nothing has been imported yet" });
      await report.getByRole("list", { name: "Report" }).waitFor();
      await report.evaluate((card) => card.scrollIntoView());
    },
    inView: (tab) => [
      heading(tab, "Preview: nothing has been imported yet"),
      button(tab, "Download report"),
    ],
    sizes: usual,
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
