/** How an editor is told to start the agent. `command` and `args` are what it runs. */
export interface EditorSetup {
  readonly editor: string;
  /** Where the text goes. */
  readonly place: string;
  readonly text: string;
}

/** Setup for the editors that are known, in the form that each of them reads. */
export function editorSetups(command: string, args: readonly string[]): readonly EditorSetup[] {
  const all = [...args, "acp"];
  const server = { Holdfast: { command, args: all } };
  return [
    {
      editor: "Zed",
      place: "settings.json",
      text: json({ agent_servers: server }),
    },
    {
      editor: "JetBrains",
      place: "~/.jetbrains/acp.json",
      text: json({ agent_servers: server }),
    },
    {
      editor: "Neovim",
      place: "CodeCompanion: require('codecompanion').setup",
      text: [
        "adapters = { acp = { holdfast = function()",
        "  return require('codecompanion.adapters').extend('gemini_cli', {",
        `    name = 'holdfast', commands = { default = { ${[command, ...all].map(lua).join(", ")} } },`,
        "  })",
        "end } }",
      ].join("\n"),
    },
    {
      editor: "VS Code",
      place: "settings.json, with an extension that speaks ACP",
      text: json({ "acp.agents": server }),
    },
  ];
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}

function lua(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
