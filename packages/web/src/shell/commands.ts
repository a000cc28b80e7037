import type { IconName } from "../ui/icons.tsx";

/** Something the command palette can do. */
export interface PaletteCommand {
  readonly key: string;
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
}

/** What can be done with the open conversation. Whatever shows one offers its commands here. */
export interface OpenCommands {
  readonly read: () => readonly PaletteCommand[];
  readonly subscribe: (listener: () => void) => () => void;
  readonly offer: (commands: readonly PaletteCommand[]) => void;
}

export function createOpenCommands(): OpenCommands {
  let offered: readonly PaletteCommand[] = [];
  const listeners = new Set<() => void>();
  return {
    read: () => offered,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    offer(commands) {
      offered = commands;
      listeners.forEach((listener) => listener());
    },
  };
}
