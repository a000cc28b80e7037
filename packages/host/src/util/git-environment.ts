/**
 * Settings for git in the commands of an agent. The agent can write the files of a repository, so git starts nothing
 * that these name: no hooks, monitors, pagers, editors or transports, and no repository hidden among the files of a
 * workspace. What else a repository's configuration can name (filters, external diffs, aliases) has no such switch: an
 * approval is bound to the content of `.git/config` instead.
 */
const settings: Readonly<Record<string, string>> = {
  "safe.bareRepository": "explicit",
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.pager": "cat",
  "core.alternateRefsCommand": "false",
  "interactive.diffFilter": "cat",
  "gpg.program": "gpg",
  "protocol.ext.allow": "never",
};

export const gitEnvironment: Readonly<Record<string, string>> = {
  GIT_CONFIG_COUNT: String(Object.keys(settings).length),
  ...Object.fromEntries(
    Object.entries(settings).flatMap(([name, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, name],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
  GIT_PAGER: "cat",
  GIT_EDITOR: "true",
  GIT_SEQUENCE_EDITOR: "true",
  GIT_SSH_COMMAND: "ssh",
  GIT_PROXY_COMMAND: "",
  GIT_ASKPASS: "true",
  GIT_TERMINAL_PROMPT: "0",
};
