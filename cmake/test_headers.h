// Like headers.h, for tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/headers.h"
