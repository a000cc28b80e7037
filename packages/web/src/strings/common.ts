import { plural } from "@holdfast/protocol";

export const commonStrings = {
  product: "Holdfast",
  common: {
    cancel: "Cancel",
    close: "Close",
    copied: "Copied",
    copy: "Copy",
    more: "More",
    save: "Save",
    tryAgain: "Try again",
    unreachable: "The host did not respond. Nothing was changed.",
  },
  signIn: {
    title: "Sign in to Holdfast",
    lead: "Open the link that Holdfast printed when it started. It works once.",
    field: "Or paste your token",
    submit: "Sign in",
    submitting: "Signing in…",
    hintBefore: "It is in the file ",
    hintBetween: " in the home folder, ",
    hintAfter: " unless you chose another.",
    trouble: {
      "link-refused":
        "This sign-in link has already been used or has expired. Links last ten minutes.",
      "token-refused": "Wrong token.",
      unreachable: "The host did not respond. Try again.",
    },
    signOut: "Sign out",
  },
  connecting: "Connecting…",
  unreachable: {
    title: "Can't reach the host",
    lead: "Your conversations are safe. Start Holdfast again and this page will reconnect by itself.",
    retry: "Retry now",
  },
  host: {
    healthy: "Host is running",
    unreachable: "Can't reach the host. Retrying",
    version: (version: string) => `Holdfast ${version}`,
  },
  shell: {
    openList: "Show conversations",
    closeList: "Hide conversations",
    skip: "Skip to conversation",
    settings: "Settings",
    waitingNamed: (count: number) =>
      plural(count, { one: "# call needs your approval", other: "# calls need your approval" }),
    palette: "Search and commands",
    partFailed:
      "This part of the page could not be loaded. The host is not reachable, or it was updated.",
    reload: "Reload the page",
  },
  keys: {
    title: "Keyboard shortcuts",
    groups: [
      {
        title: "Anywhere",
        keys: [
          ["Ctrl K", "Search and commands"],
          ["Ctrl Shift O", "New conversation"],
          ["?", "Show these shortcuts"],
          ["Ctrl /", "Show these shortcuts, also while you write"],
        ],
      },
      {
        title: "In a conversation",
        keys: [
          ["Enter", "Send"],
          ["Shift Enter", "New line"],
          ["↑", "Edit your last message, if the field is empty"],
          ["Ctrl F", "Find in the conversation"],
          ["Esc", "Close the panel, or stop the answer"],
        ],
      },
      {
        title: "When a call needs your approval",
        keys: [
          ["Alt Y", "Allow once"],
          ["Alt N", "Deny"],
        ],
      },
    ],
  },
  problems: {
    network_failed: "The host did not respond after several attempts.",
    unexpected_answer: "The response did not come from Holdfast. Check the address.",
    fields: (all: readonly string[]) => `Check these fields: ${all.join("; ")}.`,
  },
} as const;
