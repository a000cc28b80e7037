export { familyOf } from "./family.ts";
export { hasChildTag, isChildLane, parentOf } from "./child.ts";
export { createChildKeeper } from "./keeper.ts";
export { createDelegate } from "./tool.ts";
