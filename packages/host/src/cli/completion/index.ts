import { type Command, exit } from "../command.ts";
import { commands } from "../commands/registry.ts";
import { completionOf } from "./command-words.ts";
import { shellScripts } from "./shell-scripts.ts";

export { printSuggestions } from "./completion.ts";

export const completion: Command = {
  usage: ["completion bash|zsh|fish"],
  about: [
    "Prints a script that makes a shell complete commands, their flags and what those take. Sessions and models are asked",
    "of the host that serves this home, where one does; nothing is started for a Tab. Print it again after an update.",
  ].join("\n"),
  examples: [
    ["source <(holdfast completion bash)", "for this shell; in ~/.bashrc for every one"],
    ["holdfast completion zsh > ~/.zfunc/_holdfast", "a folder of your fpath, in zsh"],
    ["holdfast completion fish > ~/.config/fish/completions/holdfast.fish", "in fish"],
  ],
  settings: "none",
  async run({ words: [shell = "", ...rest] }, terminal) {
    const write = Object.hasOwn(shellScripts, shell) ? shellScripts[shell] : undefined;
    if (write === undefined || rest.length > 0) {
      const known = Object.keys(shellScripts).join(", ");
      terminal.printError(`For which shell? There are ${known}: holdfast completion bash`);
      return exit.misuse;
    }
    const all = Object.entries(commands).map(async ([name, { summary, load }]) =>
      completionOf(name, summary, await load()),
    );
    terminal.output.write(write(await Promise.all(all)));
    return exit.done;
  },
};
