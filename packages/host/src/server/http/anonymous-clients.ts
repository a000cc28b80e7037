import type { Socket } from "node:net";
import { isLoopback, clientNetwork } from "../../util/ip-networks.ts";

/** Connections on which nobody has shown who they are. They have a budget; those of people who have signed in do not. */
export interface AnonymousConnections {
  add(socket: Socket): void;
  markAuthenticated(socket: Socket): void;
  readonly count: number;
}

export interface ConnectionBudget {
  readonly total: number;
  readonly perAddress: number;
}

const defaultBudget: ConnectionBudget = { total: 512, perAddress: 64 };

/**
 * Past the budget the oldest stranger goes, so that whoever holds connections open keeps nobody else out. This machine
 * itself, which may be a proxy for many, has no share of its own.
 */
export function createAnonymousConnections(
  budget: ConnectionBudget = defaultBudget,
): AnonymousConnections {
  const waiting = new Set<Socket>();

  /** Its end is heard of later; those who come until then are not to find it here. */
  function turnAway(socket: Socket | undefined): void {
    if (socket === undefined) return;
    waiting.delete(socket);
    socket.destroy();
  }

  return {
    get count() {
      return waiting.size;
    },
    add(socket) {
      waiting.add(socket);
      socket.once("close", () => waiting.delete(socket));
      const address = socket.remoteAddress ?? "";
      const neighbours = isLoopback(address.replace(/^::ffff:/i, ""))
        ? []
        : [...waiting].filter(
            (each) => clientNetwork(each.remoteAddress ?? "") === clientNetwork(address),
          );
      if (neighbours.length > budget.perAddress) turnAway(neighbours[0]);
      const [oldest] = waiting;
      if (waiting.size > budget.total) turnAway(oldest);
    },
    markAuthenticated: (socket) => void waiting.delete(socket),
  };
}
