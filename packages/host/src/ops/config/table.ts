import { isInFile, isSecret } from "./config-files.ts";
import { flagOf, settingNames, settings, variableOf } from "./settings.ts";

/** Every setting as a row of a Markdown table, for the documentation. */
export function settingsTable(): string[] {
  const cell = (text: string): string => text.replaceAll("|", String.raw`\|`);
  return [
    "| in config.json | in the environment | as a flag | what it is | what it may be | unless set |",
    "|---|---|---|---|---|---|",
    ...settingNames.map((name) => {
      const { about, allowed, fallbackInWords } = settings[name];
      const inFile = isInFile(name) ? `\`${name}\`${isSecret(name) ? " (secret)" : ""}` : "–";
      const names = `${inFile} | \`${variableOf(name)}\` | \`--${flagOf(name)}\``;
      return `| ${names} | ${[about, allowed, fallbackInWords].map(cell).join(" | ")} |`;
    }),
  ];
}
