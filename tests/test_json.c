/* The JSON writer and the decimal numbers that it shares with the parsers. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "src/json.h"
#include "src/number.h"

struct memory {
    FILE *to;
    char *text;
    size_t size;
    struct vf_json json;
};

static void open_memory(struct memory *m)
{
    m->text = NULL;
    m->to = open_memstream(&m->text, &m->size);
    cr_assert_not_null(m->to);
    vf_json_open(&m->json, m->to);
}

static void expect(struct memory *m, const char *text)
{
    fclose(m->to);
    cr_expect_str_eq(m->text, text, "got %s instead of %s", m->text, text);
    free(m->text);
}

Test(json, objects_stand_on_lines_and_plain_arrays_on_one)
{
    struct memory m;
    open_memory(&m);
    vf_json_begin_object(&m.json, NULL);
    vf_json_string(&m.json, "name", "a");
    vf_json_begin_array(&m.json, "size");
    vf_json_integer(&m.json, NULL, 1);
    vf_json_number(&m.json, NULL, 2.5);
    vf_json_boolean(&m.json, NULL, true);
    vf_json_end(&m.json);
    vf_json_begin_array(&m.json, "stages");
    vf_json_begin_object(&m.json, NULL);
    vf_json_boolean(&m.json, "fused", false);
    vf_json_end(&m.json);
    vf_json_begin_object(&m.json, NULL);
    vf_json_end(&m.json);
    vf_json_end(&m.json);
    vf_json_begin_array(&m.json, "none");
    vf_json_end(&m.json);
    vf_json_end(&m.json);
    expect(&m, "{\n"
               "  \"name\": \"a\",\n"
               "  \"size\": [1, 2.5, true],\n"
               "  \"stages\": [\n"
               "    {\n"
               "      \"fused\": false\n"
               "    },\n"
               "    {}\n"
               "  ],\n"
               "  \"none\": []\n"
               "}\n");
}

static void expect_string(const char *text, const char *json)
{
    struct memory m;
    open_memory(&m);
    vf_json_string(&m.json, NULL, text);
    expect(&m, json);
}

Test(json, strings_are_escaped_and_always_utf8)
{
    expect_string("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
    expect_string("a\nb\tc\x01\x7f", "\"a\\nb\\tc\\u0001\\u007f\"");
    expect_string("\xc2\xb5m \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc2\xb5m \xe2\x82\xac \xf0\x9f\x98\x80\"");
    expect_string("a\xff"
                  "b",
                  "\"a\\ufffdb\"");
    expect_string("\xc0\xaf", "\"\\ufffd\\ufffd\"");            /* overlong */
    expect_string("\xe2\x82", "\"\\ufffd\\ufffd\"");            /* cut short */
    expect_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
    expect_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    expect_string("", "\"\"");
    expect_string(NULL, "null");
}

static void expect_number(double value, const char *json)
{
    struct memory m;
    open_memory(&m);
    vf_json_number(&m.json, NULL, value);
    expect(&m, json);
}

Test(json, numbers_are_shortest_and_finite)
{
    expect_number(0.1, "0.1");
    expect_number(100, "100");
    expect_number(-1, "-1");
    expect_number(1.0 / 3, "0.3333333333333333");
    expect_number(1e300, "1e+300");
    expect_number(5e-324, "5e-324");
    expect_number(NAN, "null");
    expect_number(INFINITY, "null");
    expect_number(-INFINITY, "null");
}

Test(number, text_reads_back)
{
    unsigned long long state = 1;
    for (int i = 0; i < 20000; i++) {
        union {
            unsigned long long bits;
            double value;
        } random;
        char text[VF_NUMBER_TEXT];
        double back;
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        random.bits = state ^ state >> 29;
        if (!isfinite(random.value))
            continue;
        vf_number_text(text, random.value);
        const char *end = vf_number_read(text, &back);
        cr_assert(end != NULL && *end == '\0' && back == random.value, "%s", text);
    }
}

Test(number, only_decimals_are_numbers)
{
    double value;
    static const char *const wrong[] = {"", "x", "nan", "inf", "-", ".", "e5", "+-1", " 1", "infinity", "-x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_expect_null(vf_number_read(wrong[i], &value), "%s", wrong[i]);
    cr_expect_str_eq(vf_number_read("0x10", &value), "x10");
    cr_expect_eq(value, 0);
    cr_expect_str_eq(vf_number_read("1.5e", &value), "e");
    cr_expect_eq(value, 1.5);
    cr_expect_str_eq(vf_number_read("-.5e+1um", &value), "um");
    cr_expect_eq(value, -5);
    cr_expect_str_eq(vf_number_read("5.", &value), "");
    cr_expect_eq(value, 5);
    cr_expect_not_null(vf_number_read("1e999", &value));
    cr_expect(isinf(value));
    char longest[1201] = "1";
    memset(longest + 1, '0', 299);
    cr_expect_str_eq(vf_number_read(longest, &value), "");
    cr_expect_eq(value, 1e299);
    memset(longest, '0', 1200);
    cr_expect_null(vf_number_read(longest, &value));
    cr_expect_str_eq(vf_number_read(longest + 1, &value), "");
    long whole;
    cr_expect_null(vf_number_read_whole("-1", &whole));
    cr_expect_null(vf_number_read_whole("9999999999999999999", &whole));
    cr_expect_str_eq(vf_number_read_whole("12+3", &whole), "+3");
    cr_expect_eq(whole, 12);
}
