export { Dialog } from "./dialog.tsx";
export { Icon, type IconName, Mark } from "./icons.tsx";
export { keep, keptUnder, readKept } from "./keep.ts";
export { Menu, type MenuEntry } from "./menu.tsx";
export { applyTheme, chooseTheme, readTheme, themes } from "./theme.ts";
export { createToasts, ToastList, type Toasts } from "./toasts.tsx";
export { Markdown, plainOutput, revealUnseen } from "./markdown/index.ts";
export { CopyButton, copyText } from "./copy-button.tsx";
export { dayOf, daysBetween, momentOf, shortTimeOf, timeOf } from "./times.ts";
