// Preloaded into a host: sets `Date` back by CLOCK_BEHIND_MS. Timers and performance.now() are not touched.
const behindMs = Number(process.env["CLOCK_BEHIND_MS"] ?? 0);
const realNow = Date.now;
const now = (): number => realNow() - behindMs;

globalThis.Date = new Proxy(Date, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  get: (target, name, receiver): unknown =>
    name === "now" ? now : Reflect.get(target, name, receiver),
});
