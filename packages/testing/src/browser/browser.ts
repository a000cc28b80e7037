import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { chromium, type Browser } from "playwright-core";
import { unpackChromium } from "./packed-chromium.ts";

const installedPaths = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** The machine's Chromium (HOLDFAST_TEST_CHROMIUM names another), otherwise the one from npm. */
export async function launchBrowser(): Promise<Browser> {
  const configured = process.env["HOLDFAST_TEST_CHROMIUM"];
  const installed = configured ?? installedPaths.find((path) => existsSync(path));
  return chromium.launch({
    executablePath: installed ?? unpackChromium(),
    // Chromium's sandbox refuses to run as root.
    chromiumSandbox: userInfo().uid !== 0 && installed !== undefined,
    args: ["--disable-background-networking", "--disable-component-update", "--no-pings"],
  });
}
