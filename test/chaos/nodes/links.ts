import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A port on loopback, or the path of a Unix socket. */
export type Address = number | string;

/**
 * What a link does.
 *
 * - `pass`: forwards everything.
 * - `silent`: forwards nothing and closes nothing, as when packets are dropped. New connections hang.
 */
export type LinkMode = "pass" | "silent";

/** One wire of a machine. It carries bytes, and can go silent without a FIN. */
export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: () => Address;
  #mode: LinkMode = "pass";

  constructor(target: () => Address) {
    this.#target = target;
    this.#server = createServer((near) => this.#join(near));
  }

  async listen(address: Address): Promise<void> {
    if (typeof address === "string") rmSync(address, { force: true });
    this.#server.listen(
      typeof address === "string" ? { path: address } : { port: address, host: "127.0.0.1" },
    );
    await once(this.#server, "listening");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The ports from which it talks to its target, as the target sees them. */
  get farPorts(): number[] {
    return [...this.#sockets].flatMap(({ localPort, remotePort }) =>
      remotePort === this.#target() && localPort !== undefined ? [localPort] : [],
    );
  }

  set(mode: LinkMode): void {
    this.#mode = mode;
    for (const socket of this.#sockets) {
      if (mode === "silent") socket.pause();
      else socket.resume();
    }
  }

  /** Breaks what is connected, as a target that is replaced does. */
  reset(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    const target = this.#target();
    const far =
      typeof target === "string" ? connect(target) : connect({ port: target, host: "127.0.0.1" });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => undefined);
      from.on("data", (data) => to.write(data));
      from.on("end", () => to.end());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#mode === "silent") from.pause();
    }
  }

  close(): void {
    this.#server.close();
    this.reset();
  }
}
