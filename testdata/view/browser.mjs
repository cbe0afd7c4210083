// Opens Debian's Chromium for the tests of rollmill view, and notes whatever no
// page of the viewer may do: errors, violations of the content security policy,
// requests to other hosts, running text from data, scrolling sideways, faint text.
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../../.stores/view/', import.meta.url))
const { chromium } = createRequire(modules)('playwright-core')

export const wide = { width: 1280, height: 900 }
export const narrow = { width: 400, height: 800 }

// open opens the viewer at a link with its token. faults grows while pages are used.
export async function open(link, options = {}) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  const context = await browser.newContext({ viewport: wide, colorScheme: 'light', reducedMotion: 'reduce', ...options })
  const origin = new URL(link).origin
  const faults = []
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (url.startsWith(origin + '/') || url.startsWith('data:')) return route.continue()
    faults.push(`a request to another host: ${url}`)
    return route.abort()
  })
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const at = () => page.url().slice(origin.length)
  page.on('console', (m) => m.type() === 'error' && faults.push(`${at()}: console: ${m.text()}`))
  page.on('pageerror', (e) => faults.push(`${at()}: ${e}`))
  page.on('dialog', (d) => { faults.push(`${at()}: dialog: ${d.message()}`); d.dismiss() })
  await page.goto(link)
  return { browser, page, origin, faults }
}

// inspect notes the faults of the page as it is now: after a change of the window
// or of the content, as the second frame shows it.
export async function inspect({ page, faults, origin }) {
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))))
  const found = await page.evaluate(() => {
    const out = []
    if (window.hit) out.push('text from data ran as a script')
    const root = document.documentElement
    if (root.scrollWidth > root.clientWidth) {
      const over = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest('.scroll, pre'))
      out.push(`scrolls sideways: ${root.scrollWidth} of ${root.clientWidth} pixels, ${over.slice(0, 3).map((e) => e.tagName + '.' + e.className)}`)
    }
    // a page of rows scrolls its tables; the others are as wide as the window
    for (const e of /^\/d\/[^/]+\/./.test(location.pathname) ? [] : document.querySelectorAll('.scroll')) {
      if (e.scrollWidth > e.clientWidth + 1) out.push(`clips a column of ${e.getAttribute('aria-label')}: ${e.scrollWidth} of ${e.clientWidth} pixels`)
    }
    if (document.querySelectorAll('h1').length !== 1) out.push('has not one heading')
    const active = document.querySelector('main script:not([src^="/static/"]), main style, main iframe, main object, [onerror], [onload], [onclick], [style]')
    if (active) out.push(`has an active element or an inline style: ${active.outerHTML.slice(0, 80)}`)
    for (const a of document.querySelectorAll('a[href]')) if (!/^(https?:|data:)$/.test(a.protocol)) out.push(`links to ${a.protocol}`)
    for (const i of document.querySelectorAll('img:not(main > figure img, #figures > figure img)')) if (!/^data:image\/(png|jpeg|gif|webp);/.test(i.src)) out.push(`shows an image of ${i.src.slice(0, 40)}`)
    for (const e of document.querySelectorAll('input:not([type=hidden]), select, button')) {
      if (!e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim() && !e.title) out.push(`no label: ${e.outerHTML.slice(0, 80)}`)
    }
    // text stands out from what is behind it, as WCAG 2.2 AA wants it
    const rgba = (c) => { const n = c.match(/[\d.]+/g).map(Number); return c.startsWith('color(') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1] }
    const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]))
    const light = (c) => { const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
    const behind = (e) => e ? over(rgba(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255]
    const faint = new Set()
    for (const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); texts.nextNode();) {
      const e = texts.currentNode.parentElement
      if (!texts.currentNode.data.trim() || e.closest('script, option, [hidden]') || !e.checkVisibility({ visibilityProperty: true })) continue
      const style = getComputedStyle(e), back = behind(e), size = parseFloat(style.fontSize)
      const [dark, bright] = [light(back), light(over(rgba(style.color), back))].toSorted((a, b) => a - b)
      const ratio = (bright + 0.05) / (dark + 0.05), wanted = size >= 24 || size >= 18.66 && style.fontWeight >= 700 ? 3 : 4.5
      if (ratio < wanted) faint.add(`contrast ${ratio.toFixed(2)} of ${wanted}: ${style.color} upon ${back.map(Math.round)}, ${e.tagName}.${e.className}`)
    }
    return [...out, ...faint]
  })
  for (const f of found) faults.push(`${page.url().slice(origin.length)}: ${f}`)
}

// end closes the browser and ends the process, with the faults if there are any.
export async function end({ browser, faults }, said) {
  await browser.close()
  for (const f of faults) console.error(f)
  console.log(said)
  process.exitCode = faults.length ? 1 : 0
}
